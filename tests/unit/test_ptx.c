/* The parser of PTX: what of a text comes where in the tree, and what is said of texts that are wrong. */
#include "runtime/memory.h"
#include "runtime/simt/ptx.h"
#include "tests/unit/test.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static struct ptx_module *parse(const char *text)
{
    struct rt_error e = {0};
    struct ptx_module *m = ptx_parse(text, strlen(text), &e);
    if (!m) FAIL("%s", e.text);
    return m;
}

static void refused(const char *text, const char *part)
{
    struct rt_error e = {0};
    struct ptx_module *m = ptx_parse(text, strlen(text), &e);
    CHECK(!m);
    CHECK_INT(e.status, RT_COMPILE);
    CHECK_HAS(e.text, part);
    rt_error_clear(&e);
}

static const char *reg_name(const struct ptx_func *f, const struct ptx_operand *o)
{
    CHECK_INT(o->kind, PTX_OP_REG);
    return f->regs[o->reg].name;
}

TEST(types_have_sizes_and_names)
{
    CHECK_INT(ptx_type_find("f32"), PTX_F32);
    CHECK_INT(ptx_type_find("f33"), PTX_NONE);
    CHECK_INT(ptx_type_size(PTX_F16X2), 4);
    CHECK_INT(ptx_type_size(PTX_PRED), 1);
    for (int t = PTX_NONE + 1; t < PTX_TYPE_COUNT; t++) CHECK_INT(ptx_type_find(ptx_type_name((enum ptx_type)t)), t);
}

TEST(module_header_files_and_variables)
{
    struct ptx_module *m = parse("// made by hand\n.version 8.4\n.target sm_90a, debug\n.address_size 64\n"
                                 ".extern .shared .align 16 .b8 dyn[];\n"
                                 ".visible .const .align 4 .b8 c[8] = {1, 0xFF, 2};\n"
                                 ".global .align 8 .u64 p[2] = {generic(c)+4, k-8};\n"
                                 ".global .f32 f = 0f3F800000;\n"
                                 ".global .f64 d[] = {1.5, -2, 0d3FF0000000000000};\n"
                                 ".file 2 \"b.cu\"\n.file 1 \"a.cu\", 123, 456\n"
                                 ".section .debug_str\n{\n$L__info_string0:\n.b8 1,2\n.b32 $L__x+4\n}\n");
    CHECK_INT(m->version_major, 8);
    CHECK_INT(m->version_minor, 4);
    CHECK_STR(m->target, "sm_90a");
    CHECK_STR(m->files[1], "a.cu");
    CHECK_STR(m->files[2], "b.cu");
    CHECK_INT(m->var_count, 5);
    const struct ptx_var *v = m->vars;
    CHECK(v[0].is_extern && v[0].is_array && v[0].size == 0 && v[0].align == 16 && v[0].space == PTX_SHARED);
    CHECK_INT(v[1].size, 8);
    CHECK_INT(v[1].init[1], 0xFF);
    CHECK_INT(v[1].init[3], 0);
    CHECK_INT(v[2].reloc_count, 2);
    CHECK(v[2].relocs[0].generic && v[2].relocs[0].addend == 4 && v[2].relocs[0].offset == 0);
    CHECK(!v[2].relocs[1].generic && v[2].relocs[1].addend == -8 && v[2].relocs[1].offset == 8);
    CHECK_STR(v[2].relocs[1].symbol, "k");
    float f;
    memcpy(&f, v[3].init, 4);
    CHECK_NEAR(f, 1, 0);
    double d[3];
    CHECK_INT(v[4].size, 24);
    memcpy(d, v[4].init, 24);
    CHECK(d[0] == 1.5 && d[1] == -2 && d[2] == 1);
    ptx_free(m);
}

/* LLVM loads parts of a parameter by a register that holds its address. */
TEST(parameters_by_a_register_have_their_name)
{
    struct ptx_module *m = parse(HEAD ".visible .entry k(\n\t.param .align 8 .b8 a[32],\n\t.param .u64 b\n)\n{\n"
                                      "\t.reg .b64 %rd<9>;\n\t.reg .b32 %r<3>;\n\t.reg .pred %p<2>;\n"
                                      "\tmov.b64 %rd1, a;\n\tmov.u64 %rd2, %rd1;\n\tadd.s64 %rd3, %rd2, 8;\n"
                                      "\tld.param.u64 %rd4, [%rd3+16];\n\tld.param.u32 %r1, [%rd2+4];\n"
                                      "\tmov.b64 %rd5, a;\n\t@%p1 mov.b64 %rd5, b;\n\tld.param.u64 %rd6, [%rd5];\n"
                                      "\tld.global.u64 %rd7, [%rd2];\n\tret;\n}\n");
    const struct ptx_insn *in = m->funcs[0].insns;
    CHECK_STR(in[3].operands[1].symbol, "a");
    CHECK(in[3].operands[1].imm == 24 && in[3].operands[1].reg < 0);
    CHECK_STR(in[4].operands[1].symbol, "a");
    CHECK_INT(in[4].operands[1].imm, 4);
    CHECK(!in[7].operands[1].symbol && in[7].operands[1].reg >= 0); /* either of them */
    CHECK(!in[8].operands[1].symbol);                               /* what is there */
    ptx_free(m);
}

TEST(an_entry_with_its_parameters_and_limits)
{
    struct ptx_module *m = parse(HEAD ".visible .entry k(\n\t.param .u32 a,\n\t.param .u64 .ptr .global .align 1 b,\n"
                                      "\t.param .align 8 .b8 c[24]\n)\n.maxntid 256, 2\n.minnctapersm 3\n.maxnreg 32\n"
                                      "{\n.reg .b32 %r<3>;\n\tmov.u32 %r1, %tid.x;\n\tret;\n}\n");
    CHECK_INT(m->func_count, 1);
    const struct ptx_func *f = m->funcs;
    CHECK(f->is_entry && f->has_body);
    CHECK_INT(f->param_count, 3);
    CHECK_INT(f->params[1].align, 8);
    CHECK_INT(f->params[2].size, 24);
    CHECK_INT(f->max_threads[0], 256);
    CHECK_INT(f->max_threads[1], 2);
    CHECK_INT(f->max_threads[2], 1);
    CHECK_INT(f->min_blocks, 3);
    CHECK_INT(f->reg_count, 3);
    CHECK_INT(f->insn_count, 2);
    CHECK_STR(f->insns[0].opcode, "mov");
    CHECK_INT(f->insns[0].line, 14);
    CHECK_STR(reg_name(f, &f->insns[0].operands[0]), "%r1");
    CHECK_INT(f->insns[0].operands[1].kind, PTX_OP_SPECIAL);
    CHECK_STR(f->insns[0].operands[1].symbol, "tid.x");
    ptx_free(m);
}

TEST(operands_of_every_kind)
{
    struct ptx_module *m =
        parse(HEAD ".global .b32 g;\n.func f()\n{\n.reg .pred p, q;\n.reg .f32 %f<5>;\n.reg .b64 %rd<2>;\n"
                   "@!p ld.global.v4.f32 {%f0, %f1, _, %f3}, [%rd1+-16];\n"
                   "setp.lt.and.f32 p|q, %f1, 0fBF800000, !q;\n"
                   "mov.u64 %rd0, g+4;\n"
                   "add.s64 %rd0, %rd1, -1;\n"
                   "or.b64 %rd0, %rd1, 0xFFFFFFFFFFFFFFFF;\n"
                   "st.b32 [g+8], 07U;\n"
                   "mov.f64 %rd0, -1.5;\n"
                   "ld.u32 %f1, [16];\n"
                   "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, {%f0, %f1}];\n"
                   "ld.shared::cta.L2::128B.b32 %f1, [%rd0];\n"
                   "mov.u32 %f1, WARP_SZ;\n}\n");
    const struct ptx_func *f = m->funcs;
    const struct ptx_insn *i = f->insns;
    CHECK(i[0].guard == 0 && i[0].guard_negate);
    CHECK_INT(i[0].operands[0].item_count, 4);
    CHECK_INT(i[0].operands[0].items[2].kind, PTX_OP_SINK);
    CHECK(i[0].operands[1].kind == PTX_OP_ADDRESS && i[0].operands[1].imm == -16);
    CHECK_INT(i[1].operands[0].kind, PTX_OP_PAIR);
    CHECK(i[1].operands[2].imm_type == PTX_F32 && i[1].operands[2].imm == 0xBF800000);
    CHECK(i[1].operands[3].negate);
    CHECK(i[2].operands[1].kind == PTX_OP_SYMBOL && i[2].operands[1].imm == 4);
    CHECK(i[3].operands[2].imm == -1 && i[3].operands[2].imm_type == PTX_S64);
    CHECK(i[4].operands[2].imm == -1 && i[4].operands[2].imm_type == PTX_U64);
    CHECK(i[5].operands[0].imm == 8 && i[5].operands[0].reg == -1 && strcmp(i[5].operands[0].symbol, "g") == 0);
    CHECK(i[5].operands[1].imm == 7 && i[5].operands[1].imm_type == PTX_U64);
    double d;
    memcpy(&d, &i[6].operands[1].imm, 8);
    CHECK_NEAR(d, -1.5, 0);
    CHECK(i[7].operands[1].kind == PTX_OP_ADDRESS && i[7].operands[1].imm == 16 && !i[7].operands[1].symbol);
    CHECK_INT(i[8].operands[1].item_count, 1);
    CHECK_STR(i[9].mods[0], "shared::cta");
    CHECK_STR(i[9].mods[1], "L2::128B");
    CHECK_INT(i[10].operands[1].imm, 32);
    ptx_free(m);
}

TEST(scopes_shadow_and_get_names_of_their_own)
{
    struct ptx_module *m = parse(HEAD ".func f()\n{\n.reg .b32 %r<3>;\nmov.u32 %r1, 1;\n"
                                      "{\n.reg .b32 %r<2>;\n.reg .b32 t;\n.param .b64 param0;\nmov.u32 %r1, %r2;\n"
                                      "st.param.b64 [param0+0], t;\nL: bra L;\n}\n"
                                      "{ .param .b64 param0; st.param.b64 [param0], %r1; L: bra L; }\nret;\n}\n");
    const struct ptx_func *f = m->funcs;
    CHECK_STR(reg_name(f, &f->insns[0].operands[0]), "%r1");
    CHECK_STR(reg_name(f, &f->insns[1].operands[0]), "%r1@1");
    CHECK_STR(reg_name(f, &f->insns[1].operands[1]), "%r2"); /* only two of them are inside */
    CHECK_STR(reg_name(f, &f->insns[2].operands[1]), "t@1");
    CHECK_INT(f->var_count, 2);
    CHECK_STR(f->insns[2].operands[0].symbol, f->vars[0].name);
    CHECK_STR(f->insns[4].operands[0].symbol, f->vars[1].name);
    CHECK(strcmp(f->vars[0].name, f->vars[1].name) != 0);
    CHECK_INT(f->insns[3].operands[0].imm, 3);
    CHECK_INT(f->insns[5].operands[0].imm, 5);
    ptx_free(m);
}

TEST(calls_always_have_results_callee_arguments)
{
    struct ptx_module *m = parse(
        HEAD ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n.func g (.reg .b32 x) { ret; }\n"
             ".func f()\n{\n.reg .b64 %rd<2>;\n"
             "{ .param .b64 p0; .param .b32 r0; call.uni (r0), \nvprintf, \n(\np0, \np0\n); }\n"
             "call g;\ncall g, (5);\n"
             "pr : .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[32]);\n"
             "call (%rd0), %rd1, (%rd0), pr;\n}\n");
    const struct ptx_insn *i = m->funcs[2].insns;
    CHECK_INT(m->func_count, 3);
    CHECK(m->funcs[0].is_extern && !m->funcs[0].has_body && m->funcs[0].param_count == 2);
    CHECK_INT(m->funcs[1].params[0].space, PTX_REG);
    CHECK_INT(i[0].operand_count, 3);
    CHECK_INT(i[0].operands[0].item_count, 1);
    CHECK_STR(i[0].operands[1].symbol, "vprintf");
    CHECK_INT(i[0].operands[2].item_count, 2);
    CHECK_INT(i[1].operands[0].item_count + i[1].operands[2].item_count, 0);
    CHECK_INT(i[2].operands[2].items[0].imm, 5);
    CHECK_INT(i[3].operand_count, 4);
    CHECK_INT(i[3].operands[1].kind, PTX_OP_REG);
    CHECK_STR(i[3].operands[3].symbol, "pr");
    ptx_free(m);
}

TEST(labels_and_branch_tables)
{
    struct ptx_module *m =
        parse(HEAD ".func f()\n{\n.reg .pred p;\n.reg .b32 %r<2>;\n@p bra.uni $L2;\n"
                   "ts: .branchtargets $L1, $L2;\nbrx.idx %r0, ts;\n$L1:\nmov.b32 %r0, 1;\n$L2:\nret;\n$Lend:\n}\n");
    const struct ptx_func *f = m->funcs;
    CHECK_INT(f->insns[0].operands[0].imm, 3);
    CHECK_STR(f->insns[1].operands[1].symbol, "ts");
    CHECK_INT(f->branch_table_count, 1);
    CHECK_INT(f->branch_tables[0].count, 2);
    CHECK_INT(f->branch_tables[0].insns[0], 2);
    CHECK_INT(f->branch_tables[0].insns[1], 3);
    CHECK_INT(f->label_count, 3);
    CHECK_INT(f->labels[2].insn, f->insn_count);
    ptx_free(m);
}

TEST(source_lines_are_the_users)
{
    struct ptx_module *m =
        parse(HEAD ".func f()\n{\n.reg .b32 %r<2>;\n.loc 1 7 3\nmov.b32 %r0, 1;\n"
                   ".loc 1 0 3\nmov.b32 %r0, 1;\n"
                   ".loc 2 100 5, function_name $L__s0, inlined_at 1 7 3\nmov.b32 %r0, 2;\n"
                   ".loc 1 20 1\n.loc 1 3 9, function_name $L__s1+4, inlined_at 1 20 1\nmov.b32 %r0, 3;\n}\n"
                   ".file 1 \"/home/me/a.cu\"\n"
                   ".file 2 \"/usr/local/cuda/targets/x86_64-linux/include/device_atomic_functions.hpp\"\n");
    const struct ptx_insn *i = m->funcs[0].insns;
    CHECK(i[0].file == 1 && i[0].source_line == 7 && i[0].source_column == 3);
    CHECK(i[1].source_line == 7);                            /* no line of its own */
    CHECK(i[2].file == 1 && i[2].source_line == 7);          /* inside a header of the toolkit */
    CHECK(i[3].source_line == 3 && i[3].source_column == 9); /* the user's own function, where its code stands */
    ptx_free(m);
}

TEST(a_definition_takes_the_place_of_its_declaration)
{
    struct ptx_module *m = parse(HEAD ".func g;\n.extern .global .b32 x;\n.func f() { call g; ret; }\n"
                                      ".func g { ret; }\n.global .b32 x = 5;\n");
    CHECK_INT(m->func_count, 2);
    CHECK(m->funcs[0].has_body);
    CHECK_INT(m->var_count, 1);
    CHECK(!m->vars[0].is_extern && m->vars[0].init[0] == 5);
    ptx_free(m);
}

TEST(errors_name_their_line)
{
    refused("", "no .target");
    refused("hello", "line 1: expected a directive, got 'hello'");
    refused(HEAD ".func f() {\n bra L;\n}", "line 5: there is no label 'L'");
    refused(HEAD ".func f() {\n .reg .b32 a;\n .reg .b32 a;\n}", "'a' is declared twice");
    refused(HEAD ".func f() {\n @p ret;\n}", "'p' is not a register");
    refused(HEAD ".func f() { ret; ", "but the text ends");
    refused(HEAD ".func f() { ret }", "got '}'");
    refused(HEAD ".global .b8 x[2] = {1, 2, 3};", "more initialisers than 'x'");
    refused(HEAD ".global .b32 x = 123456789012345678901234567890;", "does not fit in 64 bits");
    refused(HEAD ".weird 5", "the directive '.weird' is not supported");
    refused(HEAD ".address_size 32", "only 64-bit");
    refused(HEAD ".func f() {\n .reg .b32 %r<2000000>;\n}", "is more than");
    refused(HEAD ".global .b8 x[4000000000][4000000000];", "too large");
    refused(HEAD "/* never", "does not end");
    refused(HEAD ".file 1 \"abc\n", "a string that does not end");
    refused("\xff", "byte 255");
}

/* gcc names parameters as registers are named, and counts variables of one type as registers are counted. */
TEST(parameters_and_variables_named_as_registers)
{
    struct ptx_module *m = parse(HEAD ".func (.param .u32 %value_out) f(.param .u64 %in_ar0)\n{\n\t.reg .u64 %r<2>;\n"
                                      "\tld.param.u64 %r1, [%in_ar0];\n\t{\n\t.param .u64 %P<12>;\n"
                                      "\tst.param.u64 [%P0], %r1;\n\tst.param.u64 [%P11], %r1;\n\t}\n"
                                      "\tst.param.u32 [%value_out], %r1;\n\tret;\n}\n");
    const struct ptx_func *f = &m->funcs[0];
    CHECK_STR(f->insns[0].operands[1].symbol, "%in_ar0");
    CHECK_INT(f->var_count, 12);
    CHECK_STR(f->insns[1].operands[0].symbol, f->vars[0].name);
    CHECK_STR(f->insns[2].operands[0].symbol, f->vars[11].name);
    CHECK_STR(f->insns[3].operands[0].symbol, "%value_out");
    ptx_free(m);
    refused(HEAD ".func f() {\n .param .u64 %P<2>;\n st.param.u64 [%P2], 1;\n}", "cannot be an address");
    refused(HEAD ".func f() {\n .param .u64 %P<2000>;\n}", "is more than");
    refused(HEAD ".func f() {\n .param .u64 %P<2;\n}", "expected '>'");
}

TEST(deep_nesting_is_refused)
{
    static char text[200000];
    strcpy(text, HEAD ".func f() {");
    memset(text + strlen(text), '{', 100000);
    refused(text, "nested scopes");
    memset(text, 0, sizeof text);
    strcpy(text, HEAD ".func f() { mov.b32 ");
    memset(text + strlen(text), '{', 100000);
    refused(text, "nested too deeply");
}

TEST(allocations_that_fail_are_reported)
{
    const char *text =
        HEAD ".global .u64 p = generic(q);\n.entry k(.param .u32 a)\n{\n.reg .b32 %r<40>;\nL: mov.b32 %r1, 2;\n"
             "t: .branchtargets L;\nbrx.idx %r1, t;\n}\n.file 1 \"a\"\n";
    bool done = false;
    for (long n = 1; !done && n < 1000; n++) {
        struct rt_error e = {0};
        rt_fail_allocation(n);
        struct ptx_module *m = ptx_parse(text, strlen(text), &e);
        rt_fail_allocation(0);
        done = m != NULL;
        if (!m) CHECK_INT(e.status, RT_NOMEM);
        rt_error_clear(&e);
        ptx_free(m);
    }
    CHECK(done);
}

static int64_t constant(const char *text)
{
    char source[256];
    snprintf(source, sizeof source, HEAD ".func f() {\n .reg .b64 %%rd;\n mov.b64 %%rd, %s;\n}", text);
    struct ptx_module *m = parse(source);
    const struct ptx_operand *o = &m->funcs[0].insns[0].operands[1];
    CHECK_INT(o->kind, PTX_OP_IMM);
    int64_t v = o->imm;
    ptx_free(m);
    return v;
}

TEST(constant_expressions)
{
    CHECK_INT(constant("2+3*4"), 14);
    CHECK_INT(constant("(2+3)*-4"), -20);
    CHECK_INT(constant("1 << 4 | 3"), 19);
    CHECK_INT(constant("-7 / 2"), -3);
    CHECK_INT(constant("-7 % 4"), -3);
    CHECK_INT(constant("7U / 2"), 3);
    CHECK_INT(constant("-8 >> 1"), -4);
    CHECK_INT(constant("(.u64)-8 >> 60"), 15);
    CHECK_INT(constant("~5 & 0xFF"), 250);
    CHECK_INT(constant("!3 == 0 && 2 < 3 || 0"), 1);
    CHECK_INT(constant("-1 < 1U"), 0);
    CHECK_INT(constant("3 >= 4 ? 10 : 5 ^ 1"), 4);
    CHECK_INT(constant("WARP_SZ - 1"), 31);
    CHECK_INT(constant("0x7fffffffffffffff + 1"), INT64_MIN);
    CHECK_INT(constant("1 << 64"), 0);
    CHECK_INT(constant("(1.5 + 0.5) * 2 == 4.0"), 1);
    CHECK_INT(constant("(-0x7fffffffffffffff - 1) / -1"), INT64_MIN);
    refused(HEAD ".func f() {\n .reg .b32 r;\n mov.b32 r, 1 / 0;\n}", "line 6: a constant is divided by zero");
    refused(HEAD ".func f() {\n .reg .b32 r;\n mov.b32 r, 1.5 << 2;\n}", "a shift of a fraction");
    refused(HEAD ".func f() {\n .reg .b32 r;\n mov.b32 r, (1;\n}", "expected ')'");
}

TEST(vectors_and_parts_of_registers)
{
    struct ptx_module *m = parse(HEAD ".func f() {\n.reg .v4 .f32 c;\n.reg .v2 .b32 d;\n.reg .b32 %r<3>;\n"
                                      "ld.global.v4.f32 c, [8*2];\nmov.b32 %r1, c.z;\nmov.b32 d.g, c.w;\n"
                                      "vadd.u32.u32.u32 %r0.h1, %r1.b0, %r2.b3, %r1;\n}\n");
    const struct ptx_insn *i = m->funcs[0].insns;
    CHECK_INT(m->funcs[0].reg_count, 9);
    CHECK_INT(i[0].operands[0].kind, PTX_OP_VECTOR);
    CHECK_INT(i[0].operands[0].item_count, 4);
    CHECK_INT(i[0].operands[0].items[3].reg, 3);
    CHECK_INT(i[0].operands[1].imm, 16);
    CHECK_INT(i[1].operands[1].reg, 2);
    CHECK_INT(i[2].operands[0].reg, 5);
    CHECK_STR(i[3].operands[0].select, "h1");
    CHECK_STR(i[3].operands[2].select, "b3");
    CHECK(!i[3].operands[3].select);
    ptx_free(m);
    refused(HEAD ".func f() {\n.reg .v2 .f32 c;\nmov.b32 c.z, 1;\n}", "a vector of 2 has no such part");
}

TEST(initialisers_of_every_kind)
{
    struct ptx_module *m =
        parse(HEAD ".global .b32 a[2][3] = {{1, 2}, {4}};\n.global .b32 b[][2] = {{1, 4}, {2+1, 3}, {5}};\n"
                   ".global .b8 c[4] = {0xFF(a), 0xFF00(a+4), 7, -1};\n"
                   ".global .v4 .f32 d[2] = {{1, 2.5, 0f40400000}, {5}};\n"
                   ".global .b32 x = 4, y, z[2*2] = {9};\n.func g;\n.func f { ret; }\n.alias g, f;\n");
    const uint32_t *a = (const uint32_t *)(const void *)m->vars[0].init;
    CHECK(a[0] == 1 && a[1] == 2 && a[2] == 0 && a[3] == 4 && a[5] == 0);
    CHECK_INT(m->vars[0].size, 24);
    CHECK_INT(m->vars[1].size, 24);
    CHECK_INT(m->vars[1].init[8], 3);
    CHECK_INT(m->vars[2].reloc_count, 2);
    CHECK(m->vars[2].relocs[1].mask == 0xFF00 && m->vars[2].relocs[1].offset == 1 && m->vars[2].relocs[1].addend == 4);
    CHECK(m->vars[2].init[2] == 7 && m->vars[2].init[3] == 255);
    const float *d = (const float *)(const void *)m->vars[3].init;
    CHECK(d[1] == 2.5f && d[2] == 3 && d[3] == 0 && d[4] == 5);
    CHECK_INT(m->var_count, 7);
    CHECK_INT(m->vars[6].size, 16);
    CHECK_INT(m->vars[4].init[0], 4);
    CHECK(m->funcs[0].has_body);
    CHECK_STR(m->funcs[0].name, "g");
    ptx_free(m);
    refused(HEAD ".global .b32 a[2][2] = {{1, 2, 3}};", "more initialisers than a part of 'a' has");
    refused(HEAD ".global .b32 a[2] = {{{1}}};", "nested too deeply");
    refused(HEAD ".func g;\n.alias g, f;", "there is no function 'f'");
}
