/**
 * The instructions that our kernels use, by their names in the WebAssembly specification (core 2.0,
 * appendix "Index of Instructions"). Numbers above 255 are 0xfd (vector) or 0xfc (bulk memory) and a
 * LEB128 number, written here as prefix * 0x1000 + number.
 */
const simd = (number: number): number => 0xfd * 0x1000 + number;

/** Operands come from the stack; no immediate. */
export const plainOpcodes = {
  select: 0x1b,
  'i32.eqz': 0x45,
  'i32.eq': 0x46,
  'i32.ne': 0x47,
  'i32.lt_s': 0x48,
  'i32.lt_u': 0x49,
  'i32.gt_s': 0x4a,
  'i32.gt_u': 0x4b,
  'i32.le_s': 0x4c,
  'i32.le_u': 0x4d,
  'i32.ge_s': 0x4e,
  'i32.ge_u': 0x4f,
  'f32.eq': 0x5b,
  'f32.ne': 0x5c,
  'f32.lt': 0x5d,
  'f32.gt': 0x5e,
  'i32.add': 0x6a,
  'i32.sub': 0x6b,
  'i32.mul': 0x6c,
  'i32.and': 0x71,
  'i32.or': 0x72,
  'i32.xor': 0x73,
  'i32.shl': 0x74,
  'i32.shr_u': 0x76,
  'i64.add': 0x7c,
  'i64.mul': 0x7e,
  'i64.shr_u': 0x88,
  'f32.add': 0x92,
  'f32.sub': 0x93,
  'f32.mul': 0x94,
  'f32.div': 0x95,
  'f32.max': 0x97,
  'i32.wrap_i64': 0xa7,
  'i64.extend_i32_u': 0xad,
  'f32.convert_i32_s': 0xb2,
  'i8x16.swizzle': simd(14),
  'i32x4.splat': simd(17),
  'f32x4.splat': simd(19),
  'i32x4.eq': simd(55),
  'i32x4.ne': simd(56),
  'i32x4.lt_s': simd(57),
  'i32x4.gt_s': simd(59),
  'i32x4.le_s': simd(61),
  'i32x4.ge_s': simd(63),
  'f32x4.eq': simd(65),
  'f32x4.ne': simd(66),
  'f32x4.lt': simd(67),
  'f32x4.gt': simd(68),
  'f32x4.le': simd(69),
  'f32x4.ge': simd(70),
  'v128.not': simd(77),
  'v128.and': simd(78),
  'v128.or': simd(80),
  'v128.xor': simd(81),
  'v128.bitselect': simd(82),
  'i8x16.all_true': simd(99),
  'i8x16.narrow_i16x8_s': simd(101),
  'f32x4.ceil': simd(103),
  'f32x4.floor': simd(104),
  'f32x4.trunc': simd(105),
  'f32x4.nearest': simd(106),
  'i16x8.narrow_i32x4_s': simd(133),
  'i16x8.extend_low_i8x16_u': simd(137),
  'i32x4.abs': simd(160),
  'i32x4.neg': simd(161),
  'i32x4.extend_low_i16x8_u': simd(169),
  'i32x4.shl': simd(171),
  'i32x4.shr_s': simd(172),
  'i32x4.shr_u': simd(173),
  'i32x4.add': simd(174),
  'i32x4.sub': simd(177),
  'i32x4.mul': simd(181),
  'i32x4.min_s': simd(182),
  'i32x4.max_s': simd(184),
  'f32x4.abs': simd(224),
  'f32x4.neg': simd(225),
  'f32x4.sqrt': simd(227),
  'f32x4.add': simd(228),
  'f32x4.sub': simd(229),
  'f32x4.mul': simd(230),
  'f32x4.div': simd(231),
  'f32x4.min': simd(232),
  'f32x4.max': simd(233),
  'f32x4.pmin': simd(234),
  'f32x4.pmax': simd(235),
  'i32x4.trunc_sat_f32x4_s': simd(248),
  'f32x4.convert_i32x4_s': simd(250),
} as const;

/** An address (a store: and a value) from the stack; immediates: alignment and offset. */
export const memoryOpcodes = {
  'i32.load': 0x28,
  'f32.load': 0x2a,
  'i32.load8_u': 0x2d,
  'i32.store': 0x36,
  'f32.store': 0x38,
  'v128.load': simd(0),
  'v128.load32_splat': simd(9),
  'v128.store': simd(11),
  'v128.load32_zero': simd(92),
} as const;

/** As above, with a vector operand and a lane as the last immediate. */
export const memoryLaneOpcodes = {
  'v128.load32_lane': simd(86),
  'v128.store8_lane': simd(88),
  'v128.store32_lane': simd(90),
} as const;

/** A vector (a replacement: and a value) from the stack; immediate: a lane. */
export const laneOpcodes = {
  'i32x4.extract_lane': simd(27),
  'i32x4.replace_lane': simd(28),
  'f32x4.extract_lane': simd(31),
  'f32x4.replace_lane': simd(32),
} as const;

/** Instructions with immediates of their own; see `code.ts`. */
export const specialOpcodes = {
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  br: 0x0c,
  br_if: 0x0d,
  call: 0x10,
  'local.get': 0x20,
  'local.set': 0x21,
  'i32.const': 0x41,
  'i64.const': 0x42,
  'f32.const': 0x43,
  'v128.const': simd(12),
  'i8x16.shuffle': simd(13),
  'memory.fill': 0xfc * 0x1000 + 11,
} as const;

export type ValueType = 'i32' | 'i64' | 'f32' | 'v128';

export const valueTypes: { readonly [T in ValueType]: number } = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  v128: 0x7b,
};
