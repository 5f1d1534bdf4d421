/**
 * Prints a hash per work of the bits of element-wise kernels over many sizes and offsets, and how many of their loops
 * compute two vectors in each iteration: as they are (`single`), in pairs that the engine leaves as they are (`paired`),
 * or that it joins (`joined`).
 */

import {
  pairedLoops,
  pairVectors,
} from '../../../runtime/device/cpu/wasm/assembler/paired-vectors.ts';
import { type DType, init, randn, seed, type Tensor, tidy, toStatic } from '../../../src/index.ts';

const how = process.argv[2];
if (how === 'joined') await init('cpu', { revectorize: true });
if (how === 'paired') pairVectors();
pairedLoops.count = 0;

const dtypes: readonly DType[] = [
  ...(['float32', 'float64', 'int32', 'uint8', 'bool', 'float16', 'bfloat16'] as const),
];
// Strips of fused kernels are 1,024 elements.
const sizes = [...Array.from({ length: 71 }, (_, n) => n), 1023, 1025, 1031, 2057];
const offsets = [0, 1, 3];

const chain = (x: Tensor, y: Tensor): Tensor => {
  const c = x.mul(0.5).add(0.25).tanh();
  const f = c.mul(c).neg().add(1).exp();
  return f.sub(y).relu().add(c).mul(0.3).exp().div(f);
};
type Work = (x: Tensor, y: Tensor) => readonly Tensor[];

/** With operands that move, and one that doesn't. Captured functions are made for each dtype. */
const works = (): Readonly<Record<string, Work>> => {
  const captured = toStatic(chain);
  const several = toStatic((x: Tensor, y: Tensor): Tensor[] => {
    const sum = x.exp().add(y);
    return [sum, sum.tanh().mul(x), sum.gt(1), x.mul(y).sigmoid().exp()];
  });
  return {
    add: (x, y) => [x.add(y), x.add(y.slice(0, 0, 1)), x.add(3)],
    compare: (x, y) => [x.gt(y), x.eq(y.slice(0, 0, 1))],
    cast: (x) => dtypes.map((dtype) => x.to(dtype)),
    chain: (x, y) => [chain(x, y)],
    captured: (x, y) => [captured(x, y)],
    several: (x, y) => several(x, y),
    inPlace: (x, y) => {
      const own = x.clone();
      own.mul_(y);
      own.add_(x);
      return [own];
    },
  };
};

function bits(tensors: readonly Tensor[], sum: number): number {
  let hash = sum;
  for (const x of tensors) {
    const { buffer, byteOffset, byteLength } = x.dataSync();
    for (const byte of new Uint8Array(buffer, byteOffset, byteLength)) {
      hash = (Math.imul(hash, 31) + byte) | 0;
    }
  }
  return hash;
}

seed(1);
const base = [randn([2100]).mul(3), randn([2100]).mul(3)];
const hashes: Record<string, number> = {};
for (const dtype of dtypes) {
  const [left, right] = base.map((x) => x.to(dtype));
  for (const [name, work] of Object.entries(works())) {
    if (dtype === 'bool' && name === 'inPlace') continue;
    let sum = 0;
    for (const size of sizes) {
      for (const offset of size > 70 ? [0, 3] : offsets) {
        tidy(() => {
          const x = left!.slice(0, offset, offset + size);
          const y = right!.slice(0, offset + 1, offset + 1 + size);
          sum = bits(work(x, y), sum);
        });
      }
    }
    hashes[`${name} ${dtype}`] = sum >>> 0;
  }
}
console.log(JSON.stringify({ pairedLoops: pairedLoops.count, hashes }));
