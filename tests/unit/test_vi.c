/* The vi mode of the line editor, also by a table of what Vim does. */
#include "repl/vi.h"
#include "repl/keymap.h"
#include "tests/unit/editor_driver.h"

/* What keys make of a cell in normal mode. What has been inserted ends in insert mode, with the cursor behind it; \033
 * ends that. */
static const struct driver_row motions[] = {
    {"on|e two", "h", "o|ne two"},
    {"one| two", "3h", "|one two"},
    {"|one", "9l", "on|e"},
    {"one|", "l", "on|e"},
    {"a\n|b", "h", "a\n|b"},
    {"|one two", "l ", "on|e two"},
    {"on|e", "\x7f", "o|ne"},
    {"|one two.three", "w", "one |two.three"},
    {"|one two.three", "2w", "one two|.three"},
    {"|one two.three", "3w", "one two.|three"},
    {"|one two.three x", "2W", "one two.three |x"},
    {"|one\n  two", "w", "one\n  |two"},
    {"one two.thr|ee", "b", "one two.|three"},
    {"one two.thr|ee", "2b", "one two|.three"},
    {"one two.thr|ee", "B", "one |two.three"},
    {"|one two.three", "e", "on|e two.three"},
    {"on|e two.three", "e", "one tw|o.three"},
    {"|one two.three", "2E", "one two.thre|e"},
    {"|one", "5e", "on|e"},
    {"  on|e two", "0", "|  one two"},
    {"  on|e two", "^", "  |one two"},
    {"o|ne two\nx", "$", "one tw|o\nx"},
    {"o|ne two\nxy", "2$", "one two\nx|y"},
    {"|a,b,c,d", "f,", "a|,b,c,d"},
    {"|a,b,c,d", "2f,", "a,b|,c,d"},
    {"|a,b,c,d", "f,;", "a,b|,c,d"},
    {"|a,b,c,d", "f,;;,", "a,b|,c,d"},
    {"|a,b,c,d", "t,;", "a,|b,c,d"},
    {"a,b,c,|d", "F,", "a,b,c|,d"},
    {"a,b,c,|d", "T,;", "a,b,|c,d"},
    {"|a,b", "fx", "|a,b"},
    {"|abc", ";", "|abc"},
    {"|a\nb\n\nc\n\nd", "}", "a\nb\n|\nc\n\nd"},
    {"|a\nb\n\nc\n\nd", "2}", "a\nb\n\nc\n|\nd"},
    {"|a\nb\n\nc\n\nd", "3}", "a\nb\n\nc\n\n|d"},
    {"|a\nb\n\nc\n\nd", "9}", "|a\nb\n\nc\n\nd"}, /* there are not so many */
    {"a\n\nb\n\nc|d", "{", "a\n\nb\n|\ncd"},
    {"a\n\nb\n\nc|d", "2{", "a\n|\nb\n\ncd"},
    {"a\n\n|b", "9{", "a\n\n|b"},
    {"|\xC3\xA9t\xC3\xA9", "f\xC3\xA9", "\xC3\xA9t|\xC3\xA9"},
    {"|f(a, {1})", "%", "f(a, {1}|)"},
    {"f(a, {1|})", "%", "f(a, |{1})"},
    {"|do x end", "%", "do x |end"},
    {"on|e\nlonger\nx", "j", "one\nlo|nger\nx"},
    {"one\nlon|ger\nx", "jk", "one\nlon|ger\nx"},
    {"one\nlo|nger\nx", "2k", "on|e\nlonger\nx"}, /* as far as there are any */
    {"|a\nb\n c\nd", "3G", "a\nb\n |c\nd"},
    {"|a\nb\nc", "G", "a\nb\n|c"},
    {"a\nb\n|c", "gg", "|a\nb\nc"},
    {"|a\nb\nc", "2gg", "a\n|b\nc"},
    {"|one", "gx", "|one"}, /* nothing begins so */
    {"|one", "3\033l", "o|ne"},
    {"|", "wbe0$^hlfx%G", "|"},
    {"|", "dwd%gggUip`a''ge+-_5|g_", "|"},
};

static const struct driver_row changes[] = {
    {"|one two three", "dw", "|two three"},
    {"|one two three", "d2w", "|three"},
    {"|one two three", "2dw", "|three"},
    {"one |two", "dw", "one| "},
    {"|one\ntwo x", "d3iw", "|x"},          /* the words and the blank; lines end none of them */
    {"|one\n\ntwo", "d3iw", "|"},           /* an empty line is a word */
    {"one |two\nx", "d4iw", "one |two\nx"}, /* there are not so many */
    {"|one\n  two three", "d2aw", "|three"},
    {"one\n|\ntwo", "diw", "one\n|\ntwo"},
    {"one\n|\ntwo", "ciwx", "one\nx|\ntwo"},
    {"one\n|two\nx", "daw", "one\n|\nx"},
    {"  |one", "daw", " | "},
    {"x\n  |one", "cawy", "x\n  y|"},
    {"|one\nf(a)\nx", "di(", "one\nf(|)\nx"},
    {"x\n|", "ey", "x\n|"},
    {"x\n|", "cey", "x\ny|"},
    {"a|b\ncd", "gUj", "A|B\nCD"},
    {"ab\nc|d", "gUk", "A|B\nCD"},
    {" a|b", "g~~", " |AB"},
    {"  a|b", "y_p", "  ab\n  |ab"},
    {"a |b\nc", "dw", "a| \nc"}, /* the next line stays */
    {"one t|wo", "db", "one |wo"},
    {"|one two", "de", "| two"},
    {"o|ne two", "d$", "|o"},
    {"o|ne two", "D", "|o"},
    {"one| two", "d0", "| two"},
    {"|a,b,c", "df,", "|b,c"},
    {"|a,b,c", "dt,", "|,b,c"},
    {"a,b,|c", "dF,", "a,b|c"},
    {"a,b,c,|d", "F,d;", "a,b|,d"},
    {"|f(a, b) c", "d%", "| c"},
    {"f(a, b|) c", "d%", "f| c"},
    {"a\nb|b\nc", "dd", "a\n|c"},
    {"a\nb|b", "dd", "|a"},
    {"|a", "dd", "|"},
    {"|a\nb\nc\nd", "3dd", "|d"},
    {"a\n|b\nc\nd", "dj", "a\n|d"},
    {"a\nb\n|c\nd", "dk", "a\n|d"},
    {"a\n|b\nc", "dG", "|a"},
    {"a\nb\n|c", "dgg", "|"},
    {"|one two", "cwX", "X| two"},
    {"on|e two", "cwX\033", "on|X two"},
    {"|one two three", "c2wX", "X| three"},
    {"one| two", "cwX", "oneX|two"},
    {"  on|e\nx", "ccX", "  X|\nx"},
    {"  on|e\nx", "SX", "  X|\nx"},
    {"o|ne", "CX", "oX|"},
    {"|one", "sX", "X|ne"},
    {"|one", "2sX", "X|e"},
    {"|one", "x", "|ne"},
    {"on|e", "x", "o|n"},
    {"|one", "9x", "|"},
    {"on|e", "X", "o|e"},
    {"|one", "rX", "|Xne"},
    {"|one", "2rX", "X|Xe"},
    {"|one", "4rX", "|one"},
    {"|oNe", "~~~", "On|E"},
    {"|oNe", "3~", "On|E"},
    {"|a\n  b\nc", "J", "a| b\nc"},
    {"|a\n  b\nc", "3J", "a b| c"},
    {"|a", "J", "|a"},
    {"|a\nb", ">>", "  |a\nb"},
    {"|a\n\nb", ">G", "  |a\n\n  b"},
    {"    |a\n   b", "<j", "  |a\n b"},
    /* objects */
    {"one t|wo three", "diw", "one | three"},
    {"one t|wo three", "daw", "one |three"},
    {"one t|wo", "daw", "on|e"},
    {"a.b t|wo.x c", "diW", "a.b | c"},
    {"f(\"a |b\", 'c')", "di\"", "f(\"|\", 'c')"},
    {"f(\"a |b\", 'c')", "da\"", "f(|, 'c')"},
    {"f(\"a b\"|, 'c')", "di'", "f(\"a b\", '|')"},
    {"f(\"a \\\" |b\")", "ci\"x", "f(\"x|\")"},
    {"f(g(1, |2), 3)", "di(", "f(g(|), 3)"},
    {"f(g(1, |2), 3)", "dab", "f(g|, 3)"},
    {"f(g(1, 2)|, 3)", "ci)x", "f(x|)"},
    {"f|(1)", "di(", "f(|)"},
    {"f(1|)", "di(", "f(|)"},
    {"x = {1, {2}, |3}", "ciBy", "x = {y|}"},
    {"a[i|+1]", "di[", "a[|]"},
    {"f|", "di(", "|f"},
    {"|f", "diq", "|f"},
    /* inserting */
    {"o|ne", "iX", "oX|ne"},
    {"o|ne", "aX", "onX|e"},
    {"  o|ne", "IX", "  X|one"},
    {"o|ne\nb", "AX", "oneX|\nb"},
    {"  o|ne\nb", "oX", "  one\n  X|\nb"},
    {"  o|ne\nb", "OX", "  X|\n  one\nb"},
    {"|", "iab\033", "a|b"},
    /* copying and putting in */
    {"|one two", "dwp", "tone| wo"},
    {"|one two", "yw$p", "one twoone| "},
    {"|one two", "ywP", "one| one two"},
    {"|a\nb", "yyp", "a\n|a\nb"},
    {"|a\nb", "Yjp", "a\nb\n|a"},
    {"a\n|b", "yyP", "a\n|b\nb"},
    {"|a\nb\nc", "2yyGp", "a\nb\nc\n|a\nb"},
    {"|ab", "x3p", "baa|a"},
    {"a|\n\nb", "jddp", "a\nb\n|"},
    /* again, undoing */
    {"|one two three", "dw.", "|three"},
    {"|one two three", "cwX\033w.", "X |X three"},
    {"|a a", "aX\033$.", "aX a|X"},
    {"|abc", "x.u", "|bc"},
    {"|abc", "x.uu", "|abc"},
    {"|abc", "x.2u\x12", "|bc"},
    {"|one", "cwtwo three\033u", "|one"},
    {"|a b c d", "dwlu.", "|b c d"}, /* u is none to repeat */
    {"|abcdef", "xyl.", "|cdef"},    /* nor is y */
    /* selecting */
    {"|one two", "vld", "|e two"},
    {"|one two", "ved", "| two"},
    {"one t|wo", "vby$P", "one twt|wo"},
    {"|one two", "vecX", "X| two"},
    {"a\n|b\nc\nd", "Vjd", "a\n|d"},
    {"|a\nb", "V>", "  |a\nb"},
    {"|one two", "viwU", "|ONE two"},
    {"|one two", "v$~", "|ONE TWO"},
    {"o|ne two", "vlohd", "| two"},
    {"|a\nb\nc", "VGJ", "a b| c"},
    {"|ab cd", "yiwwviwp", "ab a|b"},
    {"|one", "vv x", "o|e"},
    {"|one", "v\033x", "|ne"},
    {"f(|a)", "va(d", "|f"},
};

/* As Vim 9 has them: registers, R, counts of insertions and of ., marks, objects, operators of two letters, visual
 * mode, empty lines, undoing. What Vim makes of the same keys was written down here; its cursor, too. */
static const struct driver_row as_vim[] = {
    {"|one two", "\"ayw\"byW$\"ap", "one twoone| "},
    {"|one two", "\"aywwyw\"aP", "one one| two"},
    {"|one two", "\"aywwyw\"0p", "one ttw|owo"},
    {"|one two", "\"aywwdw\"0P", "one| "},
    {"|one two", "\"_dwP", "|two"},
    {"|a\nb\nc", "\"ayyj\"Ayyj\"ap", "a\nb\nc\n|a\nb"},
    {"|a b\nc", "\"ayw\"AyyG\"ap", "a b\nc\n|a \na b"},
    {"|a b\nc", "\"ayyj\"AywP\"ap", "a b\na b\n|a b\nc\nc\nc"},
    {"|a b\nc d", "\"ayy\"byw2\"a2p", "a b\n|a b\na b\na b\na b\nc d"},
    {"|one two", "yiwwve\"ayb\"ap", "otw|one two"},
    {"|one two", "\"\"dw$\"\"p", "twoone| "},
    {"|one two", "Rxyz\033", "xy|z two"},
    {"on|e", "Rabc\033", "onab|c"},
    {"|one two", "Rabc\x7F\x7FX\033", "a|Xe two"},
    {"|one two", "Rabc\x7F\x7F\x7F\x7F\033", "|one two"},
    {"|one two three", "2Rab\033", "aba|btwo three"},
    {"|one two", "Rab\033w.", "abe a|bo"},
    {"|one two", "Rab\033u", "|one two"},
    {"|\xC3\xA9t\xC3\xA9 x", "Rab\x7F\x7F\033", "|\xC3\xA9t\xC3\xA9 x"},
    {"|ab", "3ix\033", "xx|xab"},
    {"|ab", "3ax\033", "axx|xb"},
    {"a|b", "2Ix \033", "x x| ab"},
    {"|ab", "2A!\033", "ab!|!"},
    {"  a|b\nc", "2ox\033", "  ab\n  x\n  |x\nc"},
    {"  a|b\nc", "2Ox\033", "  x\n  |x\n  ab\nc"},
    {"|ab", "3ix\033u", "|ab"},
    {"|a b c d e", "dw2.", "|d e"},
    {"|a b c d e", "2dw.", "|e"},
    {"|a b c d e f g", "2dw3.", "|f g"},
    {"|a b c d e", "2dw1.", "|d e"},
    {"|aaaa", "2x.", "|"},
    {"|a a a", "aX\0332.", "aXX|X a a"},
    {"|a\nb\nc d", "jmaGd'a", "|a"},
    {"a|bc def", "malld`a", "a| def"},
    {"ab|c def\nx", "majgg`a", "ab|c def\nx"},
    {"a|b\n  c\nd", "jmagg'a", "ab\n  |c\nd"},
    {"|a\nb\nc", "G``x", "|\nb\nc"},
    {"a\n|b\nc\nd", "G''x", "a\n|\nc\nd"},
    {"|ab\ncd", "lmaj0d'a", "|"},
    {"|one two.three", "eegex", "on| two.three"},
    {"one two t|hree", "gegex", "on| two three"},
    {"a.b c|.d", "gEx", "a.| c.d"},
    {"|one two  ", "g_x", "one tw|  "},
    {"|one two", "5|x", "one |wo"},
    {"|a\n  b\n c", "+x", "a\n | \n c"},
    {"|a\n  b\n c", "2+x", "a\n  b\n| "},
    {"a\n  b\n |c", "-x", "a\n | \n c"},
    {"a\n|b\nc", "2_x", "a\nb\n|"},
    {"a\nb|\nc", "d_", "a\n|c"},
    {"|a\nb\nc\nd", "75%x", "a\nb\n|\nd"},
    {"|a\nb\nc\nd", "d50%", "|c\nd"},
    {"a\n\nb|\nc", "dip", "a\n|"},
    {"a\n\nb\n|c\n\nd", "dap", "a\n\n|d"},
    {"a\n\nb\n|c", "dap", "|a"},
    {"|a\nb\n\nc", "yipGp", "a\nb\n\nc\n|a\nb"},
    {"|One two.  \"Six?\" end\nof it.\n\nLast. One", ")", "One two.  |\"Six?\" end\nof it.\n\nLast. One"},
    {"One two.|  \"Six?\" end\nof it.\n\nLast. One", ")", "One two.  |\"Six?\" end\nof it.\n\nLast. One"},
    {"One |two.  \"Six?\" end\nof it.\n\nLast. One", "2)", "One two.  \"Six?\" |end\nof it.\n\nLast. One"},
    {"One two.  \"Six?\" end\nof| it.\n\nLast. One", ")", "One two.  \"Six?\" end\nof it.\n|\nLast. One"},
    {"One two.  \"Six?\" end\nof it.\n\n|Last. One", ")", "One two.  \"Six?\" end\nof it.\n\nLast. |One"},
    {"One two.  \"Six?\" end\nof| it.\n\nLast. One", "(", "One two.  \"Six?\" |end\nof it.\n\nLast. One"},
    {"One two.  \"Six?\" end\nof it.\n\n|Last. One", "(", "One two.  \"Six?\" end\nof it.\n|\nLast. One"},
    {"One two.  \"S|ix?\" end\nof it.\n\nLast. One", "2(", "|One two.  \"Six?\" end\nof it.\n\nLast. One"},
    {"One two.  \"Six?\" end\nof it.\n\nLast. |One", "9(", "One two.  \"Six?\" end\nof it.\n\nLast. |One"},
    {"'|s.'", "2)", "'s.|'"}, /* to the end of the last sentence, and of the text */
    {"'|s.'", "3)", "'|s.'"},
    {"One |two three", "2)", "One |two three"},
    {"One |two.\nthree four! ", "3)", "One two.\nthree four!| "},
    {"One two.  \"Six?\" end\nof it.\n\nLast. On|e", ")", "One two.  \"Six?\" end\nof it.\n\nLast. On|e"},
    {"On|e two.  \"Six?\" end\nof it.\n\nLast. One", "dis", "|  \"Six?\" end\nof it.\n\nLast. One"},
    {"On|e two.  \"Six?\" end\nof it.\n\nLast. One", "das", "|\"Six?\" end\nof it.\n\nLast. One"},
    {"One two. | \"Six?\" end\nof it.\n\nLast. One", "dis", "One two.|\"Six?\" end\nof it.\n\nLast. One"},
    {"One two. | \"Six?\" end\nof it.\n\nLast. One", "das", "One two.| end\nof it.\n\nLast. One"},
    {"One two.  \"Six?\" end\no|f it.\n\nLast. One", "dis", "One two.  \"Six?\"| \n\nLast. One"},
    {"One two.  \"Six?\" end\no|f it.\n\nLast. One", "das", "One two.  \"Six?|\"\n\nLast. One"},
    {"One two.  \"Six?\" end\nof it.\n\nLast. On|e", "das", "One two.  \"Six?\" end\nof it.\n\nLast|."},
    {"One two.  \"S|ix?\" end\nof it.\n\nLast. One", "d2as", "One two|.\n\nLast. One"},
    {"One two.  \"S|ix?\" end\nof it.\n\nLast. One", "visd", "One two.  | end\nof it.\n\nLast. One"},
    {"On|e two.  \"Six?\" end\nof it.\n\nLast. One", "d)", "On|\"Six?\" end\nof it.\n\nLast. One"},
    {"One two.  \"S|ix?\" end\nof it.\n\nLast. One", "d(", "One two.  |ix?\" end\nof it.\n\nLast. One"},
    {"f(a.b)|  x", "dis", "|"},
    {"O|ne.\nTwo.", "dis", "|Two."},
    {"One.\nT|wo.", "d2as", "One.\n|"},
    {"One two.  \"Six|?\" end\nof it.\n\nLast. One", "d)", "One two.  \"Six|end\nof it.\n\nLast. One"},
    {"f(\"a |b\" , c)", "da\"", "f(|, c)"},
    {"x = f( \"a|\")", "da\"", "x = f(|)"},
    {"x 'a|b' y", "2di'", "x | y"},
    {"f(g(1, |2), 3)", "2di(", "f(|)"},
    {"f|(g(1, 2))", "d2i(", "f|(g(1, 2))"},
    {"|x = f(a)", "di(", "x = f(|)"},
    {"one |two three four", "2daw", "one |four"},
    {"one |two three four", "d3iw", "one | four"},
    {"a <b|c> d", "di<", "a <|> d"},
    {"f({\n  a|,\n})", "di{", "f({\n|})"},
    {"|one Two", "gUiw", "|ONE Two"},
    {"|ONE two", "guW", "|one two"},
    {"o|ne Two", "g~~", "|ONE tWO"},
    {"o|ne two", "gUU", "|ONE TWO"},
    {"|one\ntwo\nx", "gUj", "|ONE\nTWO\nx"},
    {"|a\n  b", "gJ", "a|  b"},
    {"|a\n  b\nc", "3gJ", "a  b|c"},
    {"|one two three", "vey$gvd", "| two three"},
    {"|a\nb\nc", "Vjy\033Ggvd", "|c"},
    {"|one two\nx", "vlX", "|x"},
    {"on|e two\nx", "vlY$p", "one two\n|one two\nx"},
    {"|one two", "vwrx", "|xxxxxwo"},
    {"|one two three", "viwiwd", "|two three"},
    {"|a b\nc", "yyjviwp", "a b\n\n|a b\n"},
    {"|a b\nc d", "ywjVp", "a b\n|a "},
    {"|a\nb c", "yyjVp", "a\n|a"},
    {"|a\n\nb", "wx", "a\n|\nb"},
    {"a\n\n|b c", "bbx", "|\n\nb c"},
    {"a b\n\n|c", "gegex", "a| \n\nc"},
    {"|a b\nc\n\nd", "d}", "|\nd"},
    {"a |b\nc\n\nd", "d}", "a| \n\nd"},
    {"a\nb\n|c", "2dd", "a\nb\n|c"},
    {"|a\nb\nc", "9dd", "|"},
    {"a\n|b c\nd", "2D", "|a"},
    {"a |b c\nd e\nf", "2D", "a| \nf"},
    {"  a\n| b\nc", "dk", "|c"},
    {"|abc", "xlxuu\x12x", "|c"},
    {"one |two three", "cwn\x15x\033u\x12", "|x three"},
    {"|a", "oone\033ouuu\033uu", "|a"},
    {"a b|c", "Ox\033u", "a b|c"},
    {"a b|c\nd", "ox\033u", "a b|c\nd"},
    {"|a b c", "dwdwuux", "| b c"},
    {"|a b c d", "3dwu2\x12x", "|"},
    {"a|b", "i1\033i2\033uux", "|a"},
};

static void check_rows(const struct driver_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        driver_begin(&rows[i], true);
        size_t n = 0; /* Escape is a key of its own only when nothing follows at once */
        for (const char *keys = rows[i].keys; *keys; keys += n) {
            n = *keys == '\033' ? 1 : strcspn(keys, "\033");
            driver_type_bytes(keys, n);
        }
        driver_end(&rows[i], i);
    }
}

TEST(motions)
{
    check_rows(motions, sizeof motions / sizeof *motions);
}

TEST(changes)
{
    check_rows(changes, sizeof changes / sizeof *changes);
}

TEST(as_vim_has_them)
{
    for (size_t i = 0; i < sizeof as_vim / sizeof *as_vim; i++) {
        check_rows(&as_vim[i], 1);
    }
}

static void vi(void)
{
    driver_editor.use_vi = true;
    sh_editor_start(&driver_editor);
}

TEST(modes_are_seen_in_the_prompt)
{
    vi();
    TYPE("abc");
    CHECK_STR(driver_screen(20, 5), ">> abc|\n");
    TYPE("\033");
    CHECK_STR(driver_screen(20, 5), ">: ab|c\n");
    CHECK_STR(driver_styled(SH_MODE), "[>: ]abc\n");
    TYPE("vh");
    CHECK_STR(driver_screen(20, 5), ">v a|bc\n");
    CHECK_STR(driver_styled(SH_SELECTED), ">v a[bc]\n");
    TYPE("V");
    CHECK_STR(driver_styled(SH_SELECTED), ">V [abc]\n");
    TYPE("\033i");
    CHECK_STR(driver_screen(20, 5), ">> a|bc\n");
}

TEST(enter_runs_from_normal_mode_and_the_next_cell_begins_in_insert_mode)
{
    vi();
    TYPE("x = 1\033");
    CHECK_INT(TYPE("\r"), SH_ACCEPT);
    sh_editor_start(&driver_editor);
    TYPE("xyz");
    CHECK_STR(driver_cell(), "xyz|");
}

TEST(escape_and_a_letter_at_once)
{
    vi();
    TYPE("one two\033b");
    CHECK_STR(driver_cell(), "one |two");
    TYPE("ix\0330");
    CHECK_STR(driver_cell(), "|one xtwo");
}

TEST(keys_of_insert_mode_are_as_ever)
{
    vi();
    TYPE("one two\x17\x01X");
    CHECK_STR(driver_cell(), "X|one ");
    TYPE("\033");
    TYPE("\x1f");
    CHECK_STR(driver_cell(), "|"); /* what was typed in one go is undone in one */
}

TEST(keys_of_normal_mode_are_bound)
{
    struct sh_keymap m = {0};
    struct sh_text text = {0};
    CHECK_INT(sh_bind(&m, "vi H", "line-start"), SH_BOUND);
    CHECK_INT(sh_bind(&m, "vi L", "word-right"), SH_BOUND);
    CHECK_INT(sh_bind(&m, "vi Y", "vi y$"), SH_BOUND);
    CHECK_INT(sh_bind(&m, "vi w", "vi W"), SH_BOUND);
    CHECK_INT(sh_bind(&m, "vi W", "vi w"), SH_BOUND);
    CHECK_INT(sh_bind(&m, "vi C-t", "vi dw"), SH_BOUND);
    CHECK_INT(sh_bind(&m, "vi x", NULL), SH_BOUND);
    CHECK_INT(sh_bind(&m, "vi a b", "left"), SH_NO_KEY);
    CHECK_INT(sh_bind(&m, "H", "line-start"), SH_NO_KEY);
    CHECK_INT(sh_bind(&m, "C-t", "vi dw"), SH_NO_COMMAND);
    CHECK_INT(sh_bind(&m, "vi q", "vi "), SH_NO_COMMAND);
    CHECK_INT(sh_bind(&m, "vi q", "nothing"), SH_NO_COMMAND);
    driver_editor.keymap = &m;
    vi();
    TYPE("one.a two.b three\033");
    TYPE("H");
    CHECK_STR(driver_cell(), "|one.a two.b three");
    TYPE("2L");
    CHECK_STR(driver_cell(), "one.a| two.b three");
    TYPE("xHw"); /* x does nothing, w is W */
    CHECK_STR(driver_cell(), "one.a |two.b three");
    TYPE("YP");
    CHECK_STR(driver_cell(), "one.a two.b thre|etwo.b three");
    TYPE("H\x14.");
    CHECK_STR(driver_cell(), "|a two.b threetwo.b three");
    TYPE("2\x14");
    CHECK_STR(driver_cell(), "|.b threetwo.b three");
    TYPE("iwHxY");
    CHECK_STR(driver_cell(), "wHxY|.b threetwo.b three"); /* in insert mode they are letters */
    sh_keys_text(&m, &text);
    CHECK_HAS(text.bytes, "C-a, vi H");
    sh_text_free(&text);
    driver_editor.keymap = NULL;
    sh_keymap_free(&m);
}

TEST(history)
{
    driver_history[0] = "first";
    driver_history[1] = "two\nlines";
    driver_history_used = 2;
    vi();
    TYPE("\033");
    TYPE("k");
    CHECK_STR(driver_cell(), "two\n|lines");
    TYPE("k");
    CHECK_STR(driver_cell(), "|two\nlines");
    TYPE("k");
    CHECK_STR(driver_cell(), "|first");
    TYPE("jjj");
    CHECK_STR(driver_cell(), "|");
    TYPE("/fir\033");
    CHECK_STR(driver_cell(), "|first");
}

TEST(the_manual_has_the_letters)
{
    struct sh_text text = {0};
    sh_vi_keys_text(&text);
    for (const struct sh_vi_motion *m = sh_vi_motions; m->key; m++) CHECK(m->doc && m->find);
    CHECK_HAS(text.bytes, " fX                       the next X of the line; F: the one before\n");
    sh_text_free(&text);
}
