/* Markdown as a tree, written as nested brackets: blocks, inlines, and what nests in what. */
#include "tests/unit/test.h"

#include "repl/markdown.h"

static const char *const names[] = {
    [SH_MD_DOCUMENT] = "doc",  [SH_MD_QUOTE] = "quote", [SH_MD_LIST] = "list", [SH_MD_ITEM] = "item",
    [SH_MD_TABLE] = "table",   [SH_MD_ROW] = "row",     [SH_MD_HEADING] = "h", [SH_MD_PARAGRAPH] = "p",
    [SH_MD_CELL] = "cell",     [SH_MD_CODE] = "code",   [SH_MD_RULE] = "rule", [SH_MD_EMPHASIS] = "em",
    [SH_MD_STRONG] = "strong", [SH_MD_STRIKE] = "del",  [SH_MD_LINK] = "a",    [SH_MD_IMAGE] = "img",
    [SH_MD_CODE_SPAN] = "tt",  [SH_MD_MATH] = "math",   [SH_MD_TAG] = "tag",   [SH_MD_SOFT_BREAK] = "soft",
    [SH_MD_BREAK] = "br",
};

static void put(struct sh_text *out, const char *text)
{
    sh_text_append(out, text, strlen(text));
}

static void dump(const struct sh_md_node *n, struct sh_text *out)
{
    char line[64] = "";
    if (n->kind == SH_MD_TEXT) {
        put(out, n->text);
        return;
    }
    put(out, "(");
    put(out, names[n->kind]);
    if (n->kind == SH_MD_HEADING) snprintf(line, sizeof line, "%d", n->number);
    if (n->kind == SH_MD_LIST && n->ordered) snprintf(line, sizeof line, "=%d", n->number);
    if (n->kind == SH_MD_LIST && !n->tight) put(out, "!");
    if (n->kind == SH_MD_MATH && n->block) put(out, "!");
    if (n->kind == SH_MD_CELL && n->align) put(out, n->align == SH_MD_LEFT ? "<" : n->align == SH_MD_RIGHT ? ">" : "^");
    if (n->task) put(out, n->task == SH_MD_DONE ? "+" : "-");
    put(out, line);
    if (*n->info) put(out, ":"), put(out, n->info);
    if (*n->title) put(out, "\""), put(out, n->title);
    if (n->length) put(out, " "), put(out, n->text);
    if (n->first) put(out, " ");
    for (const struct sh_md_node *c = n->first; c; c = c->next) dump(c, out);
    put(out, ")");
}

static void check(const char *markdown, const char *expected)
{
    struct sh_markdown m;
    struct sh_text out = {0};
    CHECK(sh_markdown_parse(markdown, strlen(markdown), &m));
    sh_text_set(&out, "", 0);
    for (const struct sh_md_node *c = m.root->first; c; c = c->next) dump(c, &out);
    if (strcmp(out.bytes, expected) != 0) printf("# of: %s\n", markdown);
    CHECK_STR(out.bytes, expected);
    sh_text_free(&out);
    sh_markdown_free(&m);
}

TEST(blocks)
{
    check("", "");
    check("a\nb\n\nc", "(p a(soft)b)(p c)");
    check("# A #\n###### B\n####### C\n#D", "(h1 A)(h6 B)(p ####### C(soft)#D)");
    check("A *b*\n===\nC\n-", "(h1 A (em b))(h2 C)");
    check("a\n\n---\n***\n_ _ _", "(p a)(rule)(rule)(rule)");
    check("```lua\nx = 1\n\n  y\n```\nz", "(code:lua x = 1\n\n  y\n)(p z)");
    check("  ~~~\n  a\n   b\n ```\n~~~~", "(code a\n b\n```\n)");
    check("````\n```\n````\n```", "(code ```\n)(code)");
    check("    x\n\n    y\n\nz", "(code x\n\ny\n)(p z)");
    check("a\n    b", "(p a(soft)b)");
    check("> a\nb\n> > c\n\nd", "(quote (p a(soft)b)(quote (p c)))(p d)");
    check("> ```\n> x\n```", "(quote (code x\n))(code)");
    check("\tx", "(code x\n)");
    check("<!-- no\none --> \n<style>\np {}\n</style>\na", "(p a)");
}

TEST(lists)
{
    check("- a\n- b\n  c\nd", "(list (item (p a))(item (p b(soft)c(soft)d)))");
    check("* a\n\n* b", "(list! (item (p a))(item (p b)))");
    check("3. a\n4. b", "(list=3 (item (p a))(item (p b)))");
    check("- a\n  - b\n    - c\n- d", "(list (item (p a)(list (item (p b)(list (item (p c))))))(item (p d)))");
    check("1. a\n   ```\n   x\n   ```\n2. b", "(list=1 (item (p a)(code x\n))(item (p b)))");
    check("- a\n\n  b", "(list! (item (p a)(p b)))");
    check("- a\n+ b", "(list (item (p a)))(list (item (p b)))");
    check("- [ ] a\n- [x] b", "(list (item- (p a))(item+ (p b)))");
    check("a\n2. b", "(p a(soft)2. b)");
    check("a\n1. b", "(p a)(list=1 (item (p b)))");
    check("-\n  a\n-", "(list (item (p a))(item))");
    check("- a\n***\n- b", "(list (item (p a)))(rule)(list (item (p b)))");
}

TEST(tables)
{
    check("a | b\n--|:-:\n1 | `x\\|y`\n2\n\nc",
          "(table (row (cell a)(cell^ b))(row (cell 1)(cell^ (tt x|y)))(row (cell 2)(cell^)))(p c)");
    check("| a |\n|--:|\n| *b* | c |", "(table (row (cell> a))(row (cell> (em b))))");
    check("a | b\n--", "(h2 a | b)");
    check("text\na | b\n---|---", "(p text)(table (row (cell a)(cell b)))");
}

TEST(emphasis)
{
    check("*a* _b_ **c** __d__ ***e*** ~~f~~", "(p (em a) (em b) (strong c) (strong d) (em (strong e)) (del f))");
    check("a*b*c a_b_c", "(p a(em b)c a_b_c)");
    check("* a* ** b ** 2*3*4", "(list (item (p a* ** b ** 2(em 3)4)))");
    check("**a *b* c**", "(p (strong a (em b) c))");
    check("*a **b* c**", "(p (em a (em (em b) c)))");
    check("**a", "(p **a)");
    check("***a** b*", "(p (em (strong a) b))");
    check("\\*a\\* \\q", "(p *a* \\q)");
}

TEST(links)
{
    check("[a](http://b \"t\") ![i](c.png) <http://x.y> <a@b>",
          "(p (a:http://b\"t a) (img:c.png i) (a:http://x.y http://x.y) (a:mailto:a@b a@b))");
    check("[a *b*](<c d>) [e](f(g)h)", "(p (a:c d a (em b)) (a:f(g)h e))");
    check("[A][r] [r][] [r] [none]\n\n[R]: /u 'x'", "(p (a:/u\"x A) (a:/u\"x r) (a:/u\"x r) [none])");
    check("[![a](b)](c) [d [e](f)](g)", "(p (a:c (img:b a)) [d (a:f e)](g))");
    check("see https://a.b/c(d). end", "(p see (a:https://a.b/c(d) https://a.b/c(d)). end)");
    check("*[a*](b)", "(p *(a:b a*))");
    check("<img width=3 src='a.png' alt=\"b\"/><sub>1</sub><br>2", "(p (img:a.png b)(tag <sub>)1(tag </sub>)(br)2)");
    check("a < b > c <- d", "(p a < b > c <- d)");
}

TEST(other_inlines)
{
    check("`a` ``b`c`` `` ` `` `d", "(p (tt a) (tt b`c) (tt `) `d)");
    check("`*a*`", "(p (tt *a*))");
    check("a  \nb\\\nc", "(p a(br)b(br)c)");
    check("&amp;&#65;&#x42;&copy;&none;", "(p &AB©&none;)");
    check("$a_1*b*$ and $$c\nd$$ for $5 or $6", "(p (math a_1*b*) and (math! c\nd) for $5 or $6)");
    check("\\begin{align} a \\\\ b \\end{align}", "(p (math! \\begin{align} a \\\\ b \\end{align}))");
    check("\\$a\\$", "(p $a$)");
}

TEST(words)
{
    const char *text = "# A *b* `c`\nx";
    struct sh_markdown m;
    struct sh_text out = {0};
    CHECK(sh_markdown_parse(text, strlen(text), &m));
    CHECK(sh_markdown_words(m.root->first, &out));
    CHECK_STR(out.bytes, "A b c");
    sh_text_free(&out);
    sh_markdown_free(&m);
}

/* Containers in containers, and marks that never end, take neither the stack nor the day. */
TEST(deep)
{
    static char text[20001];
    static const char *const marks[] = {"> ", "- ", "[",   "*a ",  "`",  "$a",  "_a*",
                                        "![", "(",  "1. ", "|-\n", "~~", "<!--"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        struct sh_markdown m;
        size_t n = strlen(marks[i]);
        for (size_t k = 0; k + n < sizeof text; k += n) memcpy(text + k, marks[i], n);
        CHECK(sh_markdown_parse(text, sizeof text - 1, &m));
        sh_markdown_free(&m);
    }
}
