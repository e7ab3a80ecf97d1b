/* The loops in plain C, for any processor. */

#define LEVEL 0
#define NAME(name) name##_portable

#include "cells.h"

#include "answers.h"
