#include "gnomon/checkpoint/tokenizer.h"

#include <gtest/gtest.h>
