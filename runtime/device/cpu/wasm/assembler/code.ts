import {
  laneOpcodes,
  memoryLaneOpcodes,
  memoryOpcodes,
  plainOpcodes,
  specialOpcodes,
} from './instructions.ts';

/** The bytes of an expression: its operands, then its instruction. */
export type Code = readonly number[];

export type PlainOp = keyof typeof plainOpcodes;

/** Encodes an unsigned number below 2^32 as LEB128. */
export function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest > 0 ? low | 0x80 : low);
  } while (rest > 0);
  return bytes;
}

/** Encodes a signed 32-bit number as LEB128. */
function signed(value: number): number[] {
  const bytes: number[] = [];
  let rest = value | 0;
  for (;;) {
    const low = rest & 0x7f;
    rest >>= 7;
    const done = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0);
    bytes.push(done ? low : low | 0x80);
    if (done) return bytes;
  }
}

function opcode(number: number): number[] {
  return number < 0x1000 ? [number] : [number >>> 12, ...unsigned(number & 0xfff)];
}

function floatBytes(value: number): number[] {
  return [...new Uint8Array(new Float32Array([value]).buffer)];
}

function doubleBytes(value: number): number[] {
  return [...new Uint8Array(new Float64Array([value]).buffer)];
}

function intBytes(value: number): number[] {
  return [...new Uint8Array(new Int32Array([value]).buffer)];
}

const four = (bytes: number[]): number[] => [...bytes, ...bytes, ...bytes, ...bytes];

/** (`concat` takes a fifth of the time of `flat`, which matters in a first call: it writes all kernels.) */
export function op(name: PlainOp, ...operands: readonly Code[]): Code {
  return ([] as number[]).concat(...operands, opcode(plainOpcodes[name]));
}

/** Alignment is only a hint: 0, a single byte, is always valid. */
export function load(name: keyof typeof memoryOpcodes, address: Code, offset = 0): Code {
  return [...address, ...opcode(memoryOpcodes[name]), 0, ...unsigned(offset)];
}

export function store(
  name: keyof typeof memoryOpcodes,
  address: Code,
  value: Code,
  offset = 0,
): Code {
  return [...address, ...value, ...opcode(memoryOpcodes[name]), 0, ...unsigned(offset)];
}

/** Loads into, or stores from, one lane of `vector`. */
export function memoryLane(
  name: keyof typeof memoryLaneOpcodes,
  address: Code,
  vector: Code,
  lane: number,
  offset = 0,
): Code {
  const immediates = [0, ...unsigned(offset), lane];
  return [...address, ...vector, ...opcode(memoryLaneOpcodes[name]), ...immediates];
}

export function lane(
  name: keyof typeof laneOpcodes,
  index: number,
  ...operands: readonly Code[]
): Code {
  return ([] as number[]).concat(...operands, opcode(laneOpcodes[name]), index);
}

export function i32(value: number): Code {
  return [specialOpcodes['i32.const'], ...signed(value)];
}

export function i64(value: number): Code {
  return [specialOpcodes['i64.const'], ...signed(value)];
}

export function f32(value: number): Code {
  return [specialOpcodes['f32.const'], ...floatBytes(value)];
}

export function f64(value: number): Code {
  return [specialOpcodes['f64.const'], ...doubleBytes(value)];
}

/** A vector constant with the number in both lanes. */
export function f64x2(value: number): Code {
  const bytes = doubleBytes(value);
  return [...opcode(specialOpcodes['v128.const']), ...bytes, ...bytes];
}

/** A vector constant with the number in all four lanes. */
export function f32x4(value: number): Code {
  return [...opcode(specialOpcodes['v128.const']), ...four(floatBytes(value))];
}

export function i32x4(value: number): Code {
  return [...opcode(specialOpcodes['v128.const']), ...four(intBytes(value))];
}

/** Selects four 32-bit lanes from the eight of two vectors. */
export function shuffle(a: Code, b: Code, lanes: readonly number[]): Code {
  const bytes = lanes.flatMap((at) => [at * 4, at * 4 + 1, at * 4 + 2, at * 4 + 3]);
  return [...a, ...b, ...opcode(specialOpcodes['i8x16.shuffle']), ...bytes];
}

/** memory.fill(address, byte, length) */
export function fillMemory(address: Code, byte: Code, length: Code): Code {
  return [...address, ...byte, ...length, ...opcode(specialOpcodes['memory.fill']), 0];
}

/** memory.copy(to, from, length); the ranges may overlap. */
export function copyMemory(to: Code, from: Code, length: Code): Code {
  return [...to, ...from, ...length, ...opcode(specialOpcodes['memory.copy']), 0, 0];
}

/** The start of the scratch memory of the thread that runs the kernel. */
export const scratchBase: Code = [specialOpcodes['global.get'], 0];

/** The address of an offset in scratch memory. */
export function scratch(offset: number): Code {
  return op('i32.add', scratchBase, i32(offset));
}

/** The value of a function call. */
export function callCode(index: number, ...operands: readonly Code[]): Code {
  return ([] as number[]).concat(...operands, specialOpcodes.call, unsigned(index));
}

/** Combines the four lanes of a vector pairwise; the result is in every lane. `vector` is evaluated repeatedly. */
export function acrossLanes(combine: (a: Code, b: Code) => Code, vector: Code): Code {
  const pairs = combine(vector, shuffle(vector, vector, [2, 3, 0, 1]));
  return combine(pairs, shuffle(pairs, pairs, [1, 0, 3, 2]));
}
