/* Modified Bessel functions of the second kind of order 0 and 1, and the exponential integrals of order 1: for both
 * languages, computed in double, as special.h has others. Polynomials are ours, through Chebyshev's points, with errors
 * of 2^-56; the series are those of the handbooks. lang/topics.c says how near they are. */
#ifndef KN_SPECIAL_SECOND_H
#define KN_SPECIAL_SECOND_H

/* clang-format off */
#define KN_SECOND_FUNCTIONS()                                                                                          \
    /* What is beside the logarithm of K0(x), and of K1(x) over x / 2, of t = x^2 / 4 up to 1 / 4. */                  \
    KN_FN double k0_rest_(double t)                                                                                    \
    {                                                                                                                  \
        double p = 2.224275605476294e-13; p = p * t + 2.1483350211950277e-11;                                          \
        p = p * t + 1.6718048413148328e-09; p = p * t + 1.0207455998272325e-07;                                        \
        p = p * t + 4.72608024691358e-06; p = p * t + 0.0001585648148148148; p = p * t + 0.003616898148148148;         \
        p = p * t + 0.05092592592592592; p = p * t + 0.375; p = p * t + 1.0;                                           \
        return p * t;                                                                                                  \
    }                                                                                                                  \
    KN_FN double k1_rest_(double t)                                                                                    \
    {                                                                                                                  \
        double p = 1.654957367625136e-14; p = p * t + 1.747964364846441e-12; p = p * t + 1.501024373294594e-10;        \
        p = p * t + 1.022643001796939e-08; p = p * t + 5.357729570455905e-07;                                          \
        p = p * t + 2.0711238446355714e-05; p = p * t + 0.000557679745983264; p = p * t + 0.009591094919665281;        \
        p = p * t + 0.09078758348042781; p = p * t + 0.33639216754923357; p = p * t - 0.07721566490153287;             \
        return p;                                                                                                      \
    }                                                                                                                  \
    /* exp(x) K(x) of x > 1. */                                                                                        \
    KN_FN double k0_far_(double x)                                                                                     \
    {                                                                                                                  \
        const double u = 1 - 4 / (x + 1);                                                                              \
        double p = 2.534820467036602e-11; p = p * u + 3.480480677025221e-11; p = p * u - 5.341859910939586e-11;        \
        p = p * u - 1.0387596375943465e-10; p = p * u + 2.52923623700049e-10;                                          \
        p = p * u - 4.393277348366468e-12; p = p * u + 9.410401647338068e-10;                                          \
        p = p * u - 2.4561787781994197e-09; p = p * u + 1.0106487362350611e-08;                                        \
        p = p * u - 2.70942820428314e-08; p = p * u + 1.0307888100235242e-07;                                          \
        p = p * u - 3.100965839806837e-07; p = p * u + 1.1249592907716705e-06;                                         \
        p = p * u - 3.5911460765567455e-06; p = p * u + 1.3010580777517887e-05;                                        \
        p = p * u - 4.3525610305734146e-05; p = p * u + 0.00016278282391422294;                                        \
        p = p * u - 0.0005746200406120817; p = p * u + 0.002344354038358351; p = p * u - 0.009047854303702592;         \
        p = p * u + 0.051904142000699996; p = p * u + 1.2085585393824039;                                              \
        return p / sqrt(x);                                                                                            \
    }                                                                                                                  \
    KN_FN double k1_far_(double x)                                                                                     \
    {                                                                                                                  \
        const double u = 1 - 4 / (x + 1);                                                                              \
        double p = -5.114219968446545e-11; p = p * u + 3.314891343861267e-11;                                          \
        p = p * u - 2.8827650543846152e-11; p = p * u + 3.871398566902981e-10;                                         \
        p = p * u - 1.4323916402083036e-09; p = p * u + 3.5451421637647005e-09;                                        \
        p = p * u - 1.1523045628170145e-08; p = p * u + 3.509484865154411e-08;                                         \
        p = p * u - 1.1170712650407407e-07; p = p * u + 3.415011215266923e-07;                                         \
        p = p * u - 1.0820017355717784e-06; p = p * u + 3.3583874400312454e-06;                                        \
        p = p * u - 1.0673202221576338e-05; p = p * u + 3.355631079959308e-05;                                         \
        p = p * u - 0.00010771773965999391; p = p * u + 0.0003441268508157926;                                         \
        p = p * u - 0.0011269348877037742; p = p * u + 0.00369284692879148; p = p * u - 0.01263540807917401;           \
        p = p * u + 0.04365061563750178; p = p * u - 0.17753773382085045; p = p * u + 1.3970089271126294;              \
        return p / sqrt(x);                                                                                            \
    }                                                                                                                  \
    KN_FN double k0_near_(double x)                                                                                    \
    {                                                                                                                  \
        const double t = x * x / 4;                                                                                    \
        return k0_rest_(t) + (0.11593151565841244882 - log_(x)) * i0_near_(t);                                         \
    }                                                                                                                  \
    KN_FN double k1_near_(double x)                                                                                    \
    {                                                                                                                  \
        const double t = x * x / 4;                                                                                    \
        return x / 2 * ((log_(x) - 0.69314718055994530942) * i1_near_(t) - k1_rest_(t)) + 1 / x;                       \
    }                                                                                                                  \
    /* Of what is infinite at 0 and NaN below. */                                                                      \
    KN_FN double pole_(double x)                                                                                       \
    {                                                                                                                  \
        return x == 0 ? 1 / fabs(x) : (x - x) / (x - x);                                                               \
    }                                                                                                                  \
    KN_FN double k0e_(double x)                                                                                        \
    {                                                                                                                  \
        if (!(x > 0)) return pole_(x);                                                                                 \
        return x <= 1 ? k0_near_(x) * exp_(x) : k0_far_(x);                                                            \
    }                                                                                                                  \
    KN_FN double k1e_(double x)                                                                                        \
    {                                                                                                                  \
        if (!(x > 0)) return pole_(x);                                                                                 \
        return x <= 1 ? k1_near_(x) * exp_(x) : k1_far_(x);                                                            \
    }                                                                                                                  \
    /* exp(-x) v, of which exp(-x) alone may be too small, or exp(x) v of x < 0 too large. */                          \
    KN_FN double falling_(double x, double v)                                                                          \
    {                                                                                                                  \
        if (fabs(x) < 700) return exp_(-x) * v;                                                                        \
        return exp_(-x / 2) * v * exp_(-x / 2);                                                                        \
    }                                                                                                                  \
    KN_FN double k0_(double x)                                                                                         \
    {                                                                                                                  \
        if (!(x > 0)) return pole_(x);                                                                                 \
        return x <= 1 ? k0_near_(x) : falling_(x, k0_far_(x));                                                         \
    }                                                                                                                  \
    KN_FN double k1_(double x)                                                                                         \
    {                                                                                                                  \
        if (!(x > 0)) return pole_(x);                                                                                 \
        return x <= 1 ? k1_near_(x) : falling_(x, k1_far_(x));                                                         \
    }                                                                                                                  \
    /* The exponential integral E1 of x up to 3 / 4, and of more over exp(-x) / x. */                                  \
    KN_FN double e1_near_(double x)                                                                                    \
    {                                                                                                                  \
        const double u = x * (8.0 / 3) - 1;                                                                            \
        double p = 9.166591376711655e-14; p = p * u - 2.9738986670979708e-12; p = p * u + 8.84582486063642e-11;        \
        p = p * u - 2.40664937697403e-09; p = p * u + 5.923098589639119e-08;                                           \
        p = p * u - 1.3053362792927882e-06; p = p * u + 2.545301922534682e-05;                                         \
        p = p * u - 0.00043317689959095735; p = p * u + 0.0063462562306341825; p = p * u - 0.07964924511385184;        \
        p = p * u + 0.9135445016712593;                                                                                \
        return x * p - 0.57721566490153286061 - log_(x);                                                               \
    }                                                                                                                  \
    KN_FN double e1_far_(double x)                                                                                     \
    {                                                                                                                  \
        const double u = 1 - 5.5 / (x + 2);                                                                            \
        double p = 5.378390415006682e-09; p = p * u + 2.046436745350317e-09; p = p * u - 2.835598770193317e-08;        \
        p = p * u - 1.4531860715379843e-08; p = p * u + 7.852555569460923e-08;                                         \
        p = p * u + 3.5816891331855165e-08; p = p * u - 1.1779625071799456e-07;                                        \
        p = p * u - 7.10815755537476e-08; p = p * u + 1.5669234151904128e-07;                                          \
        p = p * u + 3.119528364865223e-08; p = p * u - 2.2075428857195607e-08;                                         \
        p = p * u - 1.8020850138816488e-07; p = p * u + 3.525753777920403e-07;                                         \
        p = p * u - 4.846501186790021e-07; p = p * u + 1.1132534121577707e-06;                                         \
        p = p * u - 2.019931657205206e-06; p = p * u + 4.490541121184619e-06;                                          \
        p = p * u - 8.176521018883068e-06; p = p * u + 1.8497275786766385e-05;                                         \
        p = p * u - 3.4686456609086485e-05; p = p * u + 8.08088561904123e-05;                                          \
        p = p * u - 0.00015605527374008626; p = p * u + 0.000383420977820745;                                          \
        p = p * u - 0.0007666056081596499; p = p * u + 0.0020762805422263955; p = p * u - 0.004344403349927722;        \
        p = p * u + 0.01446844158854744; p = p * u - 0.03236696706833687; p = p * u + 0.21277845705075482;             \
        p = p * u + 0.807867660593036;                                                                                 \
        return p;                                                                                                      \
    }                                                                                                                  \
    KN_FN double exp1_(double x)                                                                                       \
    {                                                                                                                  \
        if (!(x > 0)) return pole_(x);                                                                                 \
        return x <= 0.75 ? e1_near_(x) : x > 1000 ? 0 : falling_(x, e1_far_(x) / x);                                   \
    }                                                                                                                  \
    /* Ei of x up to 6: the logarithm of x over its zero, and the distance from that times a polynomial. */            \
    KN_FN double ei_near_(double x)                                                                                    \
    {                                                                                                                  \
        const double near = (x - 0.37250741078136663446) - 1.3140183414386028e-17, u = x / 3 - 1;                      \
        double p = 7.38317527704348e-12; p = p * u + 5.6375638000251275e-11; p = p * u + 3.728421679747486e-10;        \
        p = p * u + 2.5855149518422466e-09; p = p * u + 1.7147400761521173e-08;                                        \
        p = p * u + 1.074275183904224e-07; p = p * u + 6.367638413505793e-07;                                          \
        p = p * u + 3.5604015677784285e-06; p = p * u + 1.870697023620385e-05;                                         \
        p = p * u + 9.197224255094417e-05; p = p * u + 0.0004210737592063814;                                          \
        p = p * u + 0.0017851254499828683; p = p * u + 0.006961836132245683; p = p * u + 0.024780457941105134;         \
        p = p * u + 0.07974156050117806; p = p * u + 0.2292554580841337; p = p * u + 0.5800776053970588;               \
        p = p * u + 1.2664576815080542; p = p * u + 2.321720096290807; p = p * u + 3.434770585137441;                  \
        p = p * u + 3.8535675550242976; p = p * u + 2.986772243435986;                                                 \
        if (fabs(near) < 0.2) return log1p(near * 2.6845103508207075) + near * p;                                      \
        return log_(x) + 0.987498346645341851844 + near * p;                                                           \
    }                                                                                                                  \
    /* Over exp(x) / x, of x up to 20 and of more. */                                                                  \
    KN_FN double ei_middle_(double x)                                                                                  \
    {                                                                                                                  \
        const double u = 17.142857142857146 / x - 1.8571428571428574;                                                  \
        double p = 2.4177872789050425e-09; p = p * u - 4.495036695111743e-09;                                          \
        p = p * u - 1.1809395027037884e-08; p = p * u + 3.006091355737874e-08;                                         \
        p = p * u + 4.535765245100616e-09; p = p * u - 4.728824647586628e-08;                                          \
        p = p * u + 2.3094809895453752e-08; p = p * u - 4.297025954570201e-08;                                         \
        p = p * u + 1.74674291265841e-07; p = p * u - 1.7755831249327514e-07;                                          \
        p = p * u - 2.2813554824536168e-07; p = p * u + 1.1403369774541512e-06;                                        \
        p = p * u - 2.310774973696192e-06; p = p * u + 2.2957183944381857e-06;                                         \
        p = p * u + 2.285611420105802e-06; p = p * u - 1.4521386580557281e-05;                                         \
        p = p * u + 2.83808094003155e-05; p = p * u - 1.499120142134642e-05; p = p * u - 7.193541152492084e-05;        \
        p = p * u + 0.00021410200402454535; p = p * u - 0.00015593139635905828;                                        \
        p = p * u - 0.000549503764445176; p = p * u + 0.001455710552129347; p = p * u + 0.0005127694613535996;         \
        p = p * u - 0.006361821971683085; p = p * u - 0.002892288039791195; p = p * u + 0.025261613474711137;          \
        p = p * u + 0.11420521657072938; p = p * u + 1.1472639273704315;                                               \
        return p;                                                                                                      \
    }                                                                                                                  \
    KN_FN double ei_far_(double x)                                                                                     \
    {                                                                                                                  \
        const double u = 40 / x - 1;                                                                                   \
        double p = 2.509682199522681e-10; p = p * u + 1.5227161501894798e-10;                                          \
        p = p * u - 1.8769642855113966e-09; p = p * u - 1.2741113620748359e-09;                                        \
        p = p * u + 6.463017202952277e-09; p = p * u + 5.260164152300133e-09;                                          \
        p = p * u - 1.339174823498297e-08; p = p * u - 1.4553165077205332e-08;                                         \
        p = p * u + 1.688867747068926e-08; p = p * u + 2.976273461335472e-08;                                          \
        p = p * u - 4.911117389879204e-09; p = p * u - 4.0468442856546064e-08;                                         \
        p = p * u - 3.2989348123262124e-08; p = p * u + 4.79312314468116e-09;                                          \
        p = p * u + 4.2717686068649656e-08; p = p * u + 7.520647761691676e-08;                                         \
        p = p * u + 1.2815492719986396e-07; p = p * u + 2.839789604000291e-07;                                         \
        p = p * u + 8.677306248298396e-07; p = p * u + 3.5734608806895447e-06;                                         \
        p = p * u + 1.9684797562766976e-05; p = p * u + 0.00014809035636176768;                                        \
        p = p * u + 0.001602747523189799; p = p * u + 0.027825946121226623; p = p * u + 1.0263545114390058;            \
        return p;                                                                                                      \
    }                                                                                                                  \
    KN_APART double expi_(double x)                                                                                    \
    {                                                                                                                  \
        if (x != x) return x;                                                                                          \
        if (x <= 0) return -exp1_(-x);                                                                                 \
        if (x <= 6) return ei_near_(x);                                                                                \
        return x > 720 ? 1e300 * x * 1e10 : falling_(-x, (x < 20 ? ei_middle_(x) : ei_far_(x)) / x);                   \
    }
/* clang-format on */

#endif
