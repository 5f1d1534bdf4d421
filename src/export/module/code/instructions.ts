import {
  laneOpcodes,
  memoryLaneOpcodes,
  memoryOpcodes,
  plainOpcodes,
  specialOpcodes,
} from '../../../../runtime/device/cpu/wasm/assembler/instructions.ts';
import { invariant } from '../../../../runtime/errors/invariant.ts';
import { ByteReader } from './read-code.ts';

type Skip = (reader: ByteReader) => void;

const nothing: Skip = () => {};
const number: Skip = (reader) => {
  reader.unsigned();
};
const bytes =
  (count: number): Skip =>
  (reader) => {
    reader.take(count);
  };
const place: Skip = (reader) => {
  reader.unsigned();
  reader.unsigned();
};
const placeAndLane: Skip = (reader) => {
  place(reader);
  reader.take(1);
};

/** How to skip the immediates of each instruction that the generator emits. */
const immediates = new Map<number, Skip>([
  ...Object.values(plainOpcodes).map((code) => [code, nothing] as const),
  ...Object.values(memoryOpcodes).map((code) => [code, place] as const),
  ...Object.values(memoryLaneOpcodes).map((code) => [code, placeAndLane] as const),
  ...Object.values(laneOpcodes).map((code) => [code, bytes(1)] as const),
]);

/** A mapped type, so that a new instruction fails to compile here. */
const special: { readonly [O in keyof typeof specialOpcodes]: Skip } = {
  block: bytes(1),
  loop: bytes(1),
  if: bytes(1),
  else: nothing,
  end: nothing,
  br: number,
  br_if: number,
  call: number,
  'local.get': number,
  'local.set': number,
  'global.get': number,
  'i32.const': number,
  'i64.const': number,
  'f32.const': bytes(4),
  'f64.const': bytes(8),
  'v128.const': bytes(16),
  'i8x16.shuffle': bytes(16),
  'memory.copy': bytes(2),
  'memory.fill': bytes(1),
};
for (const [name, skip] of Object.entries(special)) {
  immediates.set(specialOpcodes[name as keyof typeof specialOpcodes], skip);
}

/** A call in a function's body: the position of its index, and the function. */
interface Call {
  readonly from: number;
  readonly to: number;
  readonly callee: number;
}

/** All calls in a body written by the generator. */
export function callsIn(body: Uint8Array): readonly Call[] {
  const reader = new ByteReader(body);
  for (let runs = reader.unsigned(); runs > 0; runs--) {
    reader.unsigned();
    reader.byte();
  }
  const calls: Call[] = [];
  while (!reader.isAtEnd) {
    const first = reader.byte();
    const code = first === 0xfd || first === 0xfc ? first * 0x1000 + reader.unsigned() : first;
    const from = reader.at;
    if (code === specialOpcodes.call) {
      calls.push({ callee: reader.unsigned(), from, to: reader.at });
      continue;
    }
    const skip = immediates.get(code);
    invariant(skip, `an instruction that is not the generator's: ${code}`);
    skip(reader);
  }
  return calls;
}
