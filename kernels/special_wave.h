/* What waves are described by: Dawson's integral and erfi, Fresnel's integrals, the dilogarithm, Legendre's functions.
 * For both languages, computed in double, as special.h has others. Polynomials are ours, through Chebyshev's points,
 * with errors of 2^-55. lang/topics.c says how near they are. */
#ifndef KN_SPECIAL_WAVE_H
#define KN_SPECIAL_WAVE_H

/* clang-format off */
#define KN_WAVE_FUNCTIONS()                                                                                            \
    /* Dawson's integral over x of x^2 up to 1, times x up to 4 and beyond. */                                         \
    KN_FN double dawson_near_(double z)                                                                                \
    {                                                                                                                  \
        const double u = 2 * z - 1;                                                                                    \
        double p = 7.850199685346177e-14; p = p * u - 1.9668551011632372e-12; p = p * u + 4.5101801972220384e-11;      \
        p = p * u - 9.49173186979463e-10; p = p * u + 1.8081655469649417e-08; p = p * u - 3.083844717017494e-07;       \
        p = p * u + 4.644844950392562e-06; p = p * u - 6.071044679960517e-05; p = p * u + 0.000672787222214463;        \
        p = p * u - 0.0061207677541281185; p = p * u + 0.04358384425530725; p = p * u - 0.22477845900707633;           \
        p = p * u + 0.7247784590070764;                                                                                \
        return p;                                                                                                      \
    }                                                                                                                  \
    KN_FN double dawson_between_(double x)                                                                             \
    {                                                                                                                  \
        const double u = (x - 2.5) / 1.5;                                                                              \
        double p = 9.398435056828784e-09; p = p * u - 7.869761479696318e-09; p = p * u - 1.1708448272923505e-07;       \
        p = p * u + 1.8433156718843418e-07; p = p * u + 6.356700968016752e-07; p = p * u - 1.911702381351801e-06;      \
        p = p * u - 9.204184798603909e-07; p = p * u + 1.1331389980098943e-05; p = p * u - 1.280313678576493e-05;      \
        p = p * u - 3.455479321441322e-05; p = p * u + 0.00011418259114764437; p = p * u - 2.8050881241226463e-05;     \
        p = p * u - 0.00043733874941791597; p = p * u + 0.0008029834005773408; p = p * u + 0.00038804741463168904;     \
        p = p * u - 0.00346386580316341; p = p * u + 0.00411885534065046; p = p * u + 0.004369399631782914;            \
        p = p * u - 0.018661095172517506; p = p * u + 0.017057636436882608; p = p * u + 0.019555734819747393;          \
        p = p * u - 0.067535758674729; p = p * u + 0.06219216811818913; p = p * u + 0.027927025483652092;              \
        p = p * u - 0.13747028477445475; p = p * u + 0.1591500871361749; p = p * u - 0.0682970268292874;               \
        p = p * u - 0.050404041682238165; p = p * u + 0.1085364033223335; p = p * u - 0.09819420738826208;             \
        p = p * u + 0.5577093054185887;                                                                                \
        return p;                                                                                                      \
    }                                                                                                                  \
    KN_FN double dawson_far_(double x)                                                                                 \
    {                                                                                                                  \
        const double w = 4 / x, u = 2 * w * w - 1;                                                                     \
        double p = -2.134322971178763e-10; p = p * u - 2.99449984367677e-10; p = p * u + 1.8290928850551e-09;          \
        p = p * u + 2.3962900062025073e-09; p = p * u - 7.376306318392367e-09; p = p * u - 8.910885037697687e-09;      \
        p = p * u + 1.883717543241192e-08; p = p * u + 2.0793763646513664e-08; p = p * u - 3.479646812070851e-08;      \
        p = p * u - 3.536934316683086e-08; p = p * u + 5.058450075955877e-08; p = p * u + 5.008332083344106e-08;       \
        p = p * u - 6.083619068294859e-08; p = p * u - 6.8327466980481e-08; p = p * u + 5.790576180685551e-08;         \
        p = p * u + 9.775783499859472e-08; p = p * u - 2.062116878920052e-08; p = p * u - 1.26112035743702e-07;        \
        p = p * u - 9.096504101359619e-08; p = p * u + 3.638329801292132e-08; p = p * u + 1.6490134887205654e-07;      \
        p = p * u + 2.9706561320396693e-07; p = p * u + 5.968221894337895e-07; p = p * u + 1.737929175253083e-06;      \
        p = p * u + 7.5076777449222764e-06; p = p * u + 4.792593708018103e-05; p = p * u + 0.0004768322737615931;      \
        p = p * u + 0.008646073144815008; p = p * u + 0.5082109864490417;                                              \
        return p;                                                                                                      \
    }                                                                                                                  \
    KN_APART double dawsn_(double a)                                                                                   \
    {                                                                                                                  \
        const double x = fabs(a);                                                                                      \
        if (x <= 1) return a * dawson_near_(a * a);                                                                    \
        return (x <= 4 ? dawson_between_(x) : dawson_far_(x)) / a;                                                     \
    }                                                                                                                  \
    /* exp(x^2) by its root, which does not overflow before erfi does. */                                              \
    KN_FN double erfi_(double a)                                                                                       \
    {                                                                                                                  \
        const double z = a * a, lost = fma(a, a, -z), e = exp_(z / 2);                                                 \
        if (fabs(a) > 27) return a * 1.7976931348623157e308;                                                           \
        return (1.12837916709551257390 * dawsn_(a) * e) * e * (1 + lost);                                              \
    }                                                                                                                  \
    /* Of x up to 1.5, z = x^4: Fresnel's integrals over x^3 and x. */                                                 \
    KN_FN double fresnel_sine_near_(double z)                                                                          \
    {                                                                                                                  \
        const double u = z / 2.53125 - 1;                                                                              \
        double p = 5.701526236584415e-14; p = p * u - 4.182433603336192e-12; p = p * u + 2.5183259686719126e-10;       \
        p = p * u - 1.2191997668518744e-08; p = p * u + 4.617706249924784e-07; p = p * u - 1.321831663019398e-05;      \
        p = p * u + 0.0002731959238043704; p = p * u - 0.0038273603282742877; p = p * u + 0.033158344302986954;        \
        p = p * u - 0.15462472879775477; p = p * u + 0.3317014537101536;                                               \
        return p;                                                                                                      \
    }                                                                                                                  \
    KN_FN double fresnel_cosine_near_(double z)                                                                        \
    {                                                                                                                  \
        const double u = z / 2.53125 - 1;                                                                              \
        double p = 1.0321384725552098e-16; p = p * u - 9.841734627334479e-15; p = p * u + 7.900896382951095e-13;       \
        p = p * u - 5.257682445126761e-11; p = p * u + 2.842820259901833e-09; p = p * u - 1.2189463302692873e-07;      \
        p = p * u + 4.019013747205811e-06; p = p * u - 9.786733752727695e-05; p = p * u + 0.0016657872050110424;       \
        p = p * u - 0.0183018312057431; p = p * u + 0.11464907315830586; p = p * u - 0.33317978749623606;              \
        p = p * u + 0.5321015097925993;                                                                                \
        return p;                                                                                                      \
    }                                                                                                                  \
    /* Of greater x: what they are made of beside a sine and a cosine, f and g of the Digital Library of Mathematical  \
       Functions, 7.2. */                                                                                              \
    KN_FN double fresnel_first_(double x)                                                                              \
    {                                                                                                                  \
        const double pi = 3.14159265358979323846, v = 3 / x, u = x > 3 ? 2 * (v * v) * (v * v) - 1 : (x - 2.25) / 0.75;\
        if (x > 3) {                                                                                                   \
            double p = 2.8144084549996394e-13; p = p * u - 6.899191048395689e-13; p = p * u + 7.309113839461043e-13;   \
            p = p * u - 2.3397397847913605e-12; p = p * u + 9.516677493217364e-12; p = p * u - 3.284011971614907e-11;  \
            p = p * u + 1.2484270043159954e-10; p = p * u - 5.472281043364173e-10; p = p * u + 2.8078224118633283e-09; \
            p = p * u - 1.7608489674750808e-08; p = p * u + 1.4405849855099087e-07;                                    \
            p = p * u - 1.7038297393032976e-06; p = p * u + 3.4862420414857616e-05; p = p * u - 0.001800795494687714;  \
            p = p * u + 0.9981624730618779;                                                                            \
            return p / (pi * x);                                                                                       \
        }                                                                                                              \
        double p = -1.584714487497376e-12; p = p * u + 6.665437915038997e-12; p = p * u - 1.2247917439520673e-11;      \
        p = p * u - 5.307022462985564e-12; p = p * u + 2.5020752871875877e-10; p = p * u - 1.8359023325978311e-09;     \
        p = p * u + 9.219134749023778e-09; p = p * u - 3.633387397580144e-08; p = p * u + 1.1301793957579663e-07;      \
        p = p * u - 2.4450198925505063e-07; p = p * u + 7.539739736319539e-08; p = p * u + 2.693350628927634e-06;      \
        p = p * u - 1.8029955953814978e-05; p = p * u + 8.042335220217762e-05; p = p * u - 0.00028904382516245996;     \
        p = p * u + 0.0008799880798576424; p = p * u - 0.002296995130853883; p = p * u + 0.0050942968752491925;        \
        p = p * u - 0.009289110744251296; p = p * u + 0.012846976638150091; p = p * u + 0.9893838511276648;            \
        return p / (pi * x);                                                                                           \
    }                                                                                                                  \
    KN_FN double fresnel_second_(double x)                                                                             \
    {                                                                                                                  \
        const double pi = 3.14159265358979323846, v = 3 / x, u = x > 3 ? 2 * (v * v) * (v * v) - 1 : (x - 2.25) / 0.75;\
        if (x > 3) {                                                                                                   \
            double p = 6.479976041866625e-13; p = p * u - 1.2903798005622022e-12; p = p * u - 4.287531564072475e-13;   \
            p = p * u + 5.016484423559557e-13; p = p * u + 5.993759315145765e-12; p = p * u - 1.4161915214982986e-11;  \
            p = p * u + 2.8800764234085e-11; p = p * u - 8.20022944710491e-11; p = p * u + 2.5349211116178485e-10;     \
            p = p * u - 8.260852645527341e-10; p = p * u + 2.9575652540411817e-09; p = p * u - 1.1877443642817216e-08; \
            p = p * u + 5.486702534123607e-08; p = p * u - 3.023901211245526e-07; p = p * u + 2.096825584324323e-06;   \
            p = p * u - 1.984485065667533e-05; p = p * u + 0.0002933158268125287; p = p * u - 0.008725078110119576;    \
            p = p * u + 0.9909592910831274;                                                                            \
            return p / (pi * x) / (pi * x) / x;                                                                        \
        }                                                                                                              \
        double p = 1.230326429064523e-11; p = p * u - 2.6847317436705835e-11; p = p * u - 8.704392776680611e-11;       \
        p = p * u + 7.550824421163838e-10; p = p * u - 3.653116335666067e-09; p = p * u + 1.3676088011381882e-08;      \
        p = p * u - 3.7043268777202356e-08; p = p * u + 4.881989232805455e-08; p = p * u + 1.7369650777375502e-07;     \
        p = p * u - 1.6236363258052585e-06; p = p * u + 7.390041645850551e-06; p = p * u - 2.380872314333335e-05;      \
        p = p * u + 5.3489211525941533e-05; p = p * u - 4.9821171137218244e-05; p = p * u - 0.00024367126854783218;    \
        p = p * u + 0.0016828365335877632; p = p * u - 0.006308835805439322; p = p * u + 0.017375347819743314;         \
        p = p * u - 0.03655956113298764; p = p * u + 0.055734664465507844; p = p * u + 0.9508429212132146;             \
        return p / (pi * x) / (pi * x) / x;                                                                            \
    }                                                                                                                  \
    /* From 0 to a: of the sine, or of the cosine. */                                                                  \
    KN_APART double fresnel_(double a, int cosine)                                                                     \
    {                                                                                                                  \
        const double x = fabs(a), z = x * x, lost = fma(x, x, -z);                                                     \
        if (x <= 1.5) return cosine ? a * fresnel_cosine_near_(z * z) : a * z * fresnel_sine_near_(z * z);             \
        if (x > 1e16) return copysign(0.5, a);                                                                         \
        const double turn = 1.57079632679489661923 * (z - 4 * floor(z / 4) + lost); /* less whole turns */             \
        const double f = fresnel_first_(x), g = fresnel_second_(x), s = sin(turn), c = cos(turn);                      \
        return copysign(0.5 + (cosine ? f * s - g * c : -f * c - g * s), a);                                           \
    }                                                                                                                  \
    /* The dilogarithm of 1 - x, of x from 0.5 to 2, by its series over v, -log(x): Bernoulli's numbers. */            \
    KN_FN double spence_near_(double v)                                                                                \
    {                                                                                                                  \
        const double z = v * v;                                                                                        \
        double p = 4.518980029619918e-16; p = p * z - 1.9939295860721074e-14; p = p * z + 8.921691020456452e-13;       \
        p = p * z - 4.0647616451442256e-11; p = p * z + 1.8978869988971e-09; p = p * z - 9.185773074661964e-08;        \
        p = p * z + 4.72411186696901e-06; p = p * z - 0.0002777777777777778; p = p * z + 0.027777777777777776;         \
        return v * (1 - v / 4 + z * p);                                                                                \
    }                                                                                                                  \
    /* Others by their mirror images (Digital Library of Mathematical Functions, 25.12). */                            \
    KN_APART double spence_(double x)                                                                                  \
    {                                                                                                                  \
        const double l = log_(x), y = x > 2 ? 1 / x : x, sixth = 1.64493406684822643647;                               \
        if (!(x >= 0)) return (x - x) / (x - x);                                                                       \
        const double other = y < 0.5 ? log1p_(-y) : 0;                                                                 \
        const double part = y >= 0.5 ? spence_near_(x > 2 ? l : -l)                                                    \
                            : y == 0 ? sixth                                                                           \
                                     : sixth + fabs(l) * other - spence_near_(-other);                                 \
        return x > 2 ? -part - l * l / 2 : part;                                                                       \
    }                                                                                                                  \
    /* Legendre's function of the degree v and the order m at x, the cosine of an angle whose sine is s: by the        \
       recurrence over the degree that begins at the order (Digital Library of Mathematical Functions, 14.10). Numbers \
       too small for float64 stand times 1e200, as often as `small` says. Harmonic: as spherical harmonics have it. */ \
    KN_APART double legendre_(double m, double v, double x, double s, int harmonic)                                    \
    {                                                                                                                  \
        const double order = fabs(m), degree = v < 0 && !harmonic ? -1 - v : v;                                        \
        if (!(degree >= 0 && degree <= 10000) || m != rint(m) || v != rint(v) || x != x || s != s)                     \
            return (x - x) / (x - x);                                                                                  \
        if (order > degree) return m < 0 && !harmonic ? (x - x) / (x - x) : 0;                                         \
        double p = harmonic ? 0.28209479177387814347 : 1, before = 0;                                                  \
        int small = 0;                                                                                                 \
        for (int i = 1; i <= (int)order; i++) {                                                                        \
            const double k = i;                                                                                        \
            p *= harmonic ? -s * sqrt((2 * k + 1) / (2 * k)) : -s * (2 * k - 1);                                       \
            if (fabs(p) < 1e-200 && s != 0) p *= 1e200, small++;                                                       \
            if (fabs(p) > 1e100 && small > 0) p *= 1e-200, small--;                                                    \
        }                                                                                                              \
        for (int i = (int)order + 1; i <= (int)degree; i++) {                                                          \
            const double l = i;                                                                                        \
            const double a = sqrt((2 * l - 1) / (l - order) * ((2 * l + 1) / (l + order)));                            \
            const double b = sqrt((l - 1 - order) / (2 * l - 3) * ((l - 1 + order) / (2 * l - 1)));                    \
            const double next = harmonic ? a * (x * p - b * before)                                                    \
                                         : (x * (2 * l - 1) * p - (l + order - 1) * before) / (l - order);             \
            before = p;                                                                                                \
            p = next;                                                                                                  \
            if (fabs(p) > 1e100 && small > 0) p *= 1e-200, before *= 1e-200, small--;                                  \
        }                                                                                                              \
        for (int k = (int)(degree - order) + 1; m < 0 && !harmonic && k <= (int)(degree + order); k++) p /= k;         \
        if (m < 0 && fmod(order, 2) != 0) p = -p;                                                                      \
        return small == 0 ? p : small == 1 ? p * 1e-200 : 0;                                                           \
    }
/* clang-format on */

#endif
