import type { HalfDType } from '../../../../spec/half.ts';
import { type Code, f32x4, i32, i32x4, op } from './code.ts';
import { type FunctionBuilder, get, type Local } from './function-builder.ts';

/** Converts vectors of float16 and bfloat16 bits to float32 and back, as `spec/half.ts` does for numbers. */

export function emitDecode(f: FunctionBuilder, dtype: HalfDType, bits: Local): Code {
  return dtype === 'bfloat16' ? shifted('i32x4.shl', get(bits), 16) : decodeFloat16(f, bits);
}

export function emitEncode(f: FunctionBuilder, dtype: HalfDType, value: Local): Code {
  return dtype === 'bfloat16' ? encodeBfloat16(f, value) : encodeFloat16(f, value);
}

function shifted(name: 'i32x4.shl' | 'i32x4.shr_u', value: Code, by: number): Code {
  return op(name, value, i32(by));
}

const and = (a: Code, b: Code): Code => op('v128.and', a, b);
const or = (a: Code, b: Code): Code => op('v128.or', a, b);

function decodeFloat16(f: FunctionBuilder, bits: Local): Code {
  const int = (value: number) => f.constant(i32x4(value));
  const sign = shifted('i32x4.shl', and(get(bits), int(0x8000)), 16);
  const magnitude = f.local('v128', shifted('i32x4.shl', and(get(bits), int(0x7fff)), 13));
  const scaled = op('f32x4.mul', get(magnitude), f.constant(f32x4(2 ** 112)));
  const special = or(get(magnitude), int(0x7f800000));
  const isSpecial = op('i32x4.ge_s', get(magnitude), int(0x7c00 << 13));
  return or(sign, op('v128.bitselect', special, scaled, isSpecial));
}

function encodeFloat16(f: FunctionBuilder, value: Local): Code {
  const int = (number: number) => f.constant(i32x4(number));
  const sign = f.local('v128', and(shifted('i32x4.shr_u', get(value), 16), int(0x8000)));
  const magnitude = f.local('v128', and(get(value), int(0x7fffffff)));
  const isOdd = and(shifted('i32x4.shr_u', get(magnitude), 13), int(1));
  const rounding = op('i32x4.add', isOdd, int(0xfff - (112 << 23)));
  const normal = shifted('i32x4.shr_u', op('i32x4.add', get(magnitude), rounding), 13);
  const aligned = op('f32x4.add', get(magnitude), f.constant(f32x4(0.5)));
  const subnormal = op('i32x4.sub', aligned, int(0x3f000000));
  const isSmall = op('i32x4.lt_s', get(magnitude), int(0x38800000));
  const finite = op('v128.bitselect', subnormal, normal, isSmall);
  const notANumber = op('i32x4.gt_s', get(magnitude), int(0x7f800000));
  const special = op('v128.bitselect', int(0x7e00), int(0x7c00), notANumber);
  const isSpecial = op('i32x4.ge_s', get(magnitude), int(0x47800000));
  return or(get(sign), op('v128.bitselect', special, finite, isSpecial));
}

function encodeBfloat16(f: FunctionBuilder, value: Local): Code {
  const int = (number: number) => f.constant(i32x4(number));
  const isOdd = and(shifted('i32x4.shr_u', get(value), 16), int(1));
  const rounded = op('i32x4.add', op('i32x4.add', get(value), int(0x7fff)), isOdd);
  const sign = and(shifted('i32x4.shr_u', get(value), 16), int(0x8000));
  const quiet = or(sign, int(0x7fc0));
  const notANumber = op('f32x4.ne', get(value), get(value));
  return op('v128.bitselect', quiet, shifted('i32x4.shr_u', rounded, 16), notANumber);
}
