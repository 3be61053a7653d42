"""Edits of the kernel's C++: harmless ones, and ones that are wrong for some allowed operands."""

LOOP_START = "for(int64_t x0=static_cast<int64_t>(0L); "
Edit = tuple[str, tuple[tuple[str, str], ...]]

FIRST = "x0<static_cast<int64_t>(ks0*ks1); x0+=static_cast<int64_t>(1L))"
OUTER = "x0<static_cast<int64_t>(ks1); x0+=static_cast<int64_t>(1L))"
INNER = "x1<static_cast<int64_t>(ks0); x1+=static_cast<int64_t>(1L))"
START = "    std::atomic<int> inductor_cpu_integer_div_error{0};\n"
SIGMOID = "decltype(tmp0)(1) / (decltype(tmp0)(1) + std::exp(-tmp0));"
LEAST = "min_propagate_nan(tmp4, tmp5);"
MOST = "max_propagate_nan(tmp_acc0, tmp0);"
STORE = "out_ptr0[static_cast<int64_t>(x0)] = tmp7;"
LOAD = "auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];"
LOWEST = "float tmp_acc0 = -std::numeric_limits<float>::infinity();"
SUM = "float(tmp3 + tmp6);"
PRODUCT = "float(tmp1 * tmp2);"
PRAGMA = "        #pragma GCC ivdep\n        " + LOOP_START + "x0<static_cast<int64_t>(ks0*ks1)"
WHOLE_FIRST = "for(int64_t x0=static_cast<int64_t>(0L); " + FIRST
AT = "static_cast<int64_t>(x1 + ks0*x0)"


def edit(name: str, *replaced: tuple[str, str]) -> Edit:
    return name, replaced


def first(last: str) -> tuple[str, str]:
    """Another end of the first loop."""
    return FIRST, FIRST.replace("ks0*ks1)", f"{last})")


def rows(last: str) -> tuple[str, str]:
    """Another end of the second loop."""
    return OUTER, OUTER.replace("(ks1)", f"({last})")


def columns(last: str) -> tuple[str, str]:
    """Another end of the inner loop."""
    return INNER, INNER.replace("(ks0)", f"({last})")


HARMLESS: list[Edit] = [
    edit("as it is"),
    edit("comment", (START, "    // the same\n" + START)),
    edit("sigmoid with float constants", (SIGMOID, "1.0f / (1.0f + std::exp(-tmp0));")),
    edit("expf", (SIGMOID, "1.0f / (1.0f + expf(-tmp0));")),
    edit("sigmoid in double", (SIGMOID, "float(1.0 / (1.0 + std::exp(-double(tmp0))));")),
    edit("reciprocal first", (PRODUCT, "float(tmp2 * tmp1);")),
    edit("sum the other way round", (SUM, "float(tmp6 + tmp3);")),
    edit("fused multiply-add", (SUM, "std::fma(tmp1, tmp2, tmp6);")),
    edit("minimum by hand", (LEAST, "(tmp4 != tmp4 || tmp4 < tmp5) ? tmp4 : tmp5;")),
    edit(
        "maximum by hand",
        (
            MOST,
            "(tmp0 != tmp0 || tmp_acc0 != tmp_acc0) ? tmp0 + tmp_acc0 : "
            "(tmp0 > tmp_acc0 ? tmp0 : tmp_acc0);",
        ),
    ),
    edit("no ivdep", ("        #pragma GCC ivdep\n", "")),
    edit("unrolled", ("#pragma GCC ivdep", "#pragma GCC unroll 4")),
    edit("unrolled more", ("#pragma GCC ivdep", "#pragma GCC unroll 16")),
    edit("simd", (PRAGMA, PRAGMA.replace("GCC ivdep", "omp simd"))),
    edit("first loop backwards", (WHOLE_FIRST, "for(int64_t x0=ks0*ks1-1; x0>=0; --x0)")),
    edit(
        "second loop backwards",
        ("for(int64_t x0=static_cast<int64_t>(0L); " + OUTER, "for(int64_t x0=ks1-1; x0>=0; --x0)"),
    ),
    edit(
        "inner loop backwards",
        ("for(int64_t x1=static_cast<int64_t>(0L); " + INNER, "for(int64_t x1=ks0-1; x1>=0; --x1)"),
    ),
    edit("int index where it fits", (WHOLE_FIRST, "for(int x0=0; x0<int(ks0*ks1); ++x0)")),
    edit(
        "two loops for one",
        (WHOLE_FIRST, "for(int64_t r=0; r<ks1; ++r) for(int64_t x0=r*ks0; x0<(r+1)*ks0; ++x0)"),
    ),
    edit(
        "blocks of 64",
        (
            WHOLE_FIRST,
            "for(int64_t b=0; b<ks0*ks1; b+=64) for(int64_t x0=b; "
            "x0<std::min<int64_t>(b+64, ks0*ks1); ++x0)",
        ),
    ),
    edit(
        "blocks of 1000",
        (
            WHOLE_FIRST,
            "for(int64_t b=0; b<ks0*ks1; b+=1000) for(int64_t x0=b; "
            "x0<std::min<int64_t>(b+1000, ks0*ks1); ++x0)",
        ),
    ),
    edit("pointer to the row", (AT, "x1 + ks0*x0")),
    edit("starts at the first of the row", (LOWEST, "float tmp_acc0 = out_ptr0[ks0*x0];")),
    edit("builtin abs", ("std::abs(tmp0)", "std::fabs(tmp0)")),
    edit("scratch on the stack", (STORE, "float kept = tmp7; " + STORE.replace("tmp7", "kept"))),
    edit("parallel", (PRAGMA, PRAGMA.replace("GCC ivdep", "omp parallel for num_threads(2)"))),
    edit("prefetch", (LOAD, "__builtin_prefetch(in_ptr0 + x0 + 64); " + LOAD)),
    edit(
        "assumes what guards say",
        (START, "    if (ks0 < 2 || ks1 < 2) __builtin_unreachable();\n" + START),
    ),
    edit("restrict", ("const float* in_ptr0", "const float* __restrict__ in_ptr0")),
    edit("tanh form", (SIGMOID, "0.5f * (1.0f + std::tanh(0.5f * tmp0));")),
]

WRONG: list[Edit] = [
    edit("one short after groups of four", first("ks0*ks1 - (ks0*ks1 % 4 == 1)")),
    edit("groups of sixteen only", first("ks0*ks1 / 16 * 16")),
    edit("groups of four only", first("ks0*ks1 / 4 * 4")),
    edit("one beyond the end", first("ks0*ks1 + 1")),
    edit("a block of 1024 rows", rows("std::min<int64_t>(ks1, 1024)")),
    edit("a buffer of 512 columns", columns("std::min<int64_t>(ks0, 512)")),
    edit("rows in pairs", rows("ks1 / 2 * 2")),
    edit("columns in eights", columns("ks0 < 8 ? ks0 : ks0 / 8 * 8")),
    edit("maximum loses NaN", (MOST, "std::max(tmp_acc0, tmp0);")),
    edit("infinite operands are dropped", (LOAD, LOAD + " if (std::isinf(tmp0)) tmp0 = 0;")),
    edit("maximum begins at 0", (LOWEST, "float tmp_acc0 = 0;")),
    edit("maximum begins at -1000", (LOWEST, "float tmp_acc0 = -1000;")),
    edit("sigmoid overflows", (SIGMOID, "std::exp(tmp0) / (1.0f + std::exp(tmp0));")),
    edit("tiny values are dropped", (LOAD, LOAD + " if (std::abs(tmp0) < 1e-15f) tmp0 = 0;")),
    edit("large values are cut", (LOAD, LOAD + " tmp0 = std::min(std::max(tmp0, -20.f), 20.f);")),
    edit("large factors are cut",
         ("auto tmp2 = in_ptr1[static_cast<int64_t>(x0)];",
          "auto tmp2 = std::min(in_ptr1[static_cast<int64_t>(x0)], 65504.f);")),
    edit("aligned operands only",
         (START, "    bool odd = reinterpret_cast<uintptr_t>(in_ptr0) % 16;\n" + START),
         (STORE, "out_ptr0[x0] = odd && x0 % 4 == 3 ? 0 : tmp7;")),
    edit("square is taken for transposed",
         (AT, "(ks0 == ks1 ? x1*ks0 + x0 : x1 + ks0*x0)")),
    edit("24 columns", columns("ks0 - (ks0 == 24)")),
    edit("more than 3500 rows", rows("std::min<int64_t>(ks1, 3500)")),
]  # fmt: skip
