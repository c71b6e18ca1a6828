/* Commands of the line editor that aren't about text alone: last operands, the ring of kills, the editor, bindings. */
#include "repl/keymap.h"
#include "tests/unit/editor_driver.h"

static void begin(const char *text)
{
    sh_editor_start(&driver_editor);
    sh_editor_set(&driver_editor, text, strlen(text));
}

static const struct driver_row rows[] = {
    /* moving */
    {"ab|c", "\x02", "a|bc"},
    {"ab|c", "\x06\x06\x06", "abc|"},
    {"one\ntw|o", "\x01", "one\n|two"},
    {"o|ne\ntwo", "\x05", "one|\ntwo"},
    {"o|ne\ntwo", "\033>", "one\ntwo|"},
    {"one\ntw|o", "\033<", "|one\ntwo"},
    {"gpu.zer|os", "\033b\033b", "|gpu.zeros"},
    {"|gpu.zeros", "\033f", "gpu|.zeros"},
    {"|caf\xC3\xA9s x", "\033f", "caf\xC3\xA9s| x"},
    {"one\ntw|o", "\020\016", "one\ntw|o"},
    /* cutting and putting back */
    {"a b c|", "\x17\x17\x19", "a b c|"},
    {"|one two", "\033d\x05\x19", " twoone|"},
    {"one two|", "\033\x7f\x01\x19", "two|one "},
    {"one t|wo", "\x15\x19\x19", "one tone t|wo"},
    {"one|\ntwo", "\x0b", "one|two"},
    {"a\nb|", "\x18\x0b\x19\x19", "a\nba\nb|"},
    {"a b|", "\x17\x02\x17\x05\x19\033y", " b|"}, /* the kill before the last */
    {"a b|", "\x17\x02\x17\x05\x19\033y\033y", " a|"},
    {"a|", "\033y", "a|"}, /* nothing was put in */
    {"one|", "\x18\x15\x18\x12", "one|"},
    {"one two|",
     "\x17"
     "x\x18\x15\x18\x15",
     "one two|"},
    /* the region */
    {"abc|d", "\x00\x01\x17\x05\x19", "dabc|"},
    {"ab|cd", "\x00\x05\033w\x19", "abcdcd|"},
    {"ab|cd", "\x00\x05\x18\x18X", "abX|cd"},
    {"ab|cd", "\x00\x05\x08\x08\x08\x17", "a|"}, /* the mark is behind what is left */
    /* exchanging, letters */
    {"abc|", "\x14", "acb|"},
    {"a|bc", "\x14", "ba|c"},
    {"one tw|o", "\033t", "two one|"},
    {"on|e two", "\033t", "on|e two"},
    {"one two|", "\033t", "two one|"},
    {"|one", "\033t", "|one"},
    {"one, |two.x", "\033t", "two, one|.x"},
    {"|one TWO", "\033u\033l", "ONE two|"},
    {"|one tWO", "\033c\033c", "One Two|"},
    {"|\xC3\xA9t\xC3\xA9", "\033u", "\xC3\x89T\xC3\x89|"},
    {"a| (b)", "\033u", "a (B|)"},
    /* as it is */
    {"a|",
     "\x16\x01"
     "b",
     "a\x01"
     "b|"},
    {"a|", "\x11\t\x16\r", "a\t\n|"},
    {"a|", "\x16\033[A", "a|"}, /* a key that stands for no text */
    /* undoing */
    {"|", "abc def\x1f", "abc|"},
    {"|", "abc def\x1f\x1f\033/", "abc|"},
    {"|", "abc def\x1f\x1f\033/\033\x1f", "abc def|"},
    {"|",
     "abc def\x1f"
     "x\033_",
     "abcx|"}, /* what is typed ends what can be done again */
    {"a|b", "\x0b\x01\x1f", "a|b"},
    {"a|b", "\x18\x15\x18\x15", "|"}, /* the cell itself was put in */
    {"|", "do\rend\x1f\x1f", "do|"},
};

TEST(keys)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        driver_begin(&rows[i], false);
        /* An empty row of keys begins with Ctrl-Space, which is a NUL. */
        size_t length = strlen(rows[i].keys);
        driver_type_bytes(rows[i].keys, length ? length : 1 + strlen(rows[i].keys + 1));
        driver_end(&rows[i], i);
    }
}

TEST(the_last_operand_of_earlier_cells)
{
    driver_history[0] = "y = gpu.linspace(0, 1, 50)";
    driver_history[1] = "-- only a comment";
    driver_history[2] = "print(x.shape, model:weights().layer) -- done";
    driver_history[3] = "s = 'a text'";
    driver_history_used = 4;
    TYPE("f(\033.");
    CHECK_STR(driver_cell(), "f('a text'|");
    TYPE("\033.");
    CHECK_STR(driver_cell(), "f(layer|");
    TYPE("\033.");
    CHECK_STR(driver_cell(), "f(50|");
    TYPE("\033.");
    CHECK_STR(driver_cell(), "f(50|");
    TYPE("\x1f\x1f\x1f");
    CHECK_STR(driver_cell(), "f(|");
    driver_history[0] = "print(x.shape, gpu.linalg.pi)";
    driver_history_used = 1;
    TYPE("\033.");
    CHECK_STR(driver_cell(), "f(gpu.linalg.pi|");
}

TEST(kills_beyond_the_ring_are_forgotten)
{
    char word[8];
    for (int i = 0; i < SH_KILLS + 3; i++) {
        snprintf(word, sizeof word, "w%d", i);
        begin(word);
        TYPE("\x15");
    }
    TYPE("\x19");
    for (int i = 1; i < SH_KILLS; i++) TYPE("\033y");
    CHECK_STR(driver_cell(), "w3|");
    TYPE("\033y"); /* round again */
    CHECK_STR(driver_cell(), "w18|");
}

TEST(the_cell_goes_to_the_editor)
{
    TYPE("x = 1");
    CHECK_INT(TYPE("\x18\x05"), SH_EDIT);
    CHECK(sh_editor_set(&driver_editor, "y = 2\nz", 7));
    CHECK_STR(driver_cell(), "y = 2\nz|");
    TYPE("\x1f");
    CHECK_STR(driver_cell(), "x = 1|");
}

TEST(a_prefix_without_a_second_key_does_nothing)
{
    TYPE("ab\x18"
         "c\x18\x1bq");
    CHECK_STR(driver_cell(), "ab|");
    TYPE("d");
    CHECK_STR(driver_cell(), "abd|");
}

static struct sh_keymap keymap;

static int bind(const char *key, const char *command)
{
    driver_editor.keymap = &keymap;
    return sh_bind(&keymap, key, command);
}

TEST(binding)
{
    TYPE("one two");
    CHECK_INT(bind("M-x", "line-start"), SH_BOUND);
    TYPE("\033xA");
    CHECK_STR(driver_cell(), "A|one two");
    CHECK_INT(bind("C-a", "line-end"), SH_BOUND); /* in place of what it was */
    TYPE("\x01Z");
    CHECK_STR(driver_cell(), "Aone twoZ|");
    CHECK_INT(bind("C-e", NULL), SH_BOUND);
    TYPE("\033[H\x05.");
    CHECK_STR(driver_cell(), ".|Aone twoZ");
    CHECK_INT(bind("C-c C-r", "run"), SH_BOUND); /* two keys, the first of which did something */
    CHECK_INT(TYPE("\x03"), SH_CANCEL);
    CHECK_INT(bind("C-c", NULL), SH_BOUND);
    CHECK_INT(bind("C-o", NULL), SH_BOUND);
    CHECK_INT(bind("C-o M-o", "run"), SH_BOUND);
    CHECK_INT(TYPE("\x0f"), SH_CONTINUE);
    CHECK_INT(TYPE("\033o"), SH_ACCEPT);
    CHECK_INT(bind("S-Up", "cell-start"), SH_BOUND);
    TYPE("\033[1;2A^");
    CHECK_STR(driver_cell(), "^|.Aone twoZ");
}

TEST(bindings_that_cannot_be)
{
    CHECK_INT(bind("M-x", "fly"), SH_NO_COMMAND);
    CHECK_INT(bind("", "up"), SH_NO_KEY);
    CHECK_INT(bind("x", "up"), SH_NO_KEY); /* letters are for typing */
    CHECK_INT(bind("Hyper-x", "up"), SH_NO_KEY);
    CHECK_INT(bind("C-", "up"), SH_NO_KEY);
    CHECK_INT(bind("C-x C-y C-z", "up"), SH_NO_KEY);
    CHECK_INT(bind("C-xx", "up"), SH_NO_KEY);
}

TEST(keys_of_commands)
{
    char keys[128];
    const struct sh_command *start = sh_command_find("line-start"), *end = sh_command_find("line-end");
    CHECK(sh_keys_of(&keymap, start, keys, sizeof keys));
    CHECK_STR(keys, "Home, C-a");
    bind("C-a", "line-end");
    sh_keys_of(&keymap, start, keys, sizeof keys);
    CHECK_STR(keys, "Home");
    sh_keys_of(&keymap, end, keys, sizeof keys);
    CHECK_STR(keys, "End, C-e, C-a");
    bind("Home", NULL);
    CHECK(!sh_keys_of(&keymap, start, keys, sizeof keys));
}

TEST(the_list_for_the_manual)
{
    struct sh_text text = {0};
    bind("C-a", "undo");
    sh_keys_text(&keymap, &text);
    CHECK_HAS(text.bytes, "\nline-start             Home                     to the start of the line\n");
    CHECK_HAS(text.bytes, "\nundo                   C-_, C-x C-u, C-a        undoes the last change\n");
    sh_text_free(&text);
}

/* Every command has a name of its own, keys that can be read and that no other has, and a line of documentation. */
TEST(the_table)
{
    const struct sh_command *c;
    char keys[256];
    size_t count = 0;
    for (; (c = sh_command_at(count)); count++) {
        CHECK(sh_command_find(c->name) == c);
        CHECK(*c->doc && strlen(c->doc) < 100);
        sh_keys_of(&keymap, c, keys, sizeof keys);
        CHECK_STR(keys, c->keys);
        for (size_t i = 0; i < count; i++) {
            char other[256];
            snprintf(other, sizeof other, ", %s, ", sh_command_at(i)->keys);
            for (char *key = strtok(keys, ","); key; key = strtok(NULL, ",")) {
                char wanted[64];
                snprintf(wanted, sizeof wanted, ", %s, ", key + strspn(key, " "));
                if (strstr(other, wanted)) FAIL("%s has two commands", key);
            }
            snprintf(keys, sizeof keys, "%s", c->keys);
        }
    }
    CHECK(count > 40);
}
