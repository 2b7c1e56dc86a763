// All kinds of terms: the one list. In this order they are added to the logits, told of in plans, and exported. It is included
// by attend.h, and once more for each SIMD target (attend_terms-inl.h), where each file gives its inner loops.
// clang-format off
#include "gnomon/kernels/terms/by_distance.h"
#include "gnomon/kernels/terms/by_token.h"
#include "gnomon/kernels/terms/by_code.h"
#include "gnomon/kernels/terms/query_cross.h"
#include "gnomon/kernels/terms/profile.h"
#include "gnomon/kernels/terms/key_cross.h"
#include "gnomon/kernels/terms/value.h"
#include "gnomon/kernels/terms/forget.h"
#include "gnomon/kernels/terms/curve.h"
#include "gnomon/kernels/terms/tilt.h"
#include "gnomon/kernels/terms/counted.h"
#include "gnomon/kernels/terms/mix.h"
#include "gnomon/kernels/terms/far.h"
#include "gnomon/kernels/terms/carry.h"
#include "gnomon/kernels/terms/stick.h"
// clang-format on

#ifndef GNOMON_KERNELS_TERMS_LIST_H_
#define GNOMON_KERNELS_TERMS_LIST_H_
namespace gnomon {
using TermKinds =
    KindList<ByDistanceTerm, ByTokenTerm, ByCodeTerm, QueryCrossTerm, ProfileTerm, KeyCrossTerm, ValueTerm,
             ForgetTerm, CurveTerm, TiltTerm, CountedTerm, MixTerm, FarTerm, CarryTerm, StickTerm>;
}  // namespace gnomon
#endif
