/** The works that speed is measured on, each with a checksum that must not depend on how it is run. */

import { seed } from '../../src/index.ts';
import { decoding } from './decoding.ts';
import {
  blockForward,
  blockStep,
  cnn,
  convolution,
  cswin,
  lstm,
  mlp,
  mobileBlock,
} from './networks.ts';
import { adamw, chain, product, tiny, tinyOps } from './ops.ts';
import type { WorkDefinition } from './work.ts';

const block = { batch: 8, steps: 128, width: 256, heads: 4 };
const decoder = { layers: 6, width: 256, heads: 4, vocabulary: 512, tokens: 64 };
const elements = 4 << 20;

const usual: readonly WorkDefinition[] = [
  { name: 'W1', title: 'product 512 × 512 × 512', make: () => product(512) },
  { name: 'W1b', title: 'product 1024 × 1024 × 1024', make: () => product(1024) },
  { name: 'W2', title: `${tinyOps} ops on 16 elements`, ops: tinyOps, make: tiny },
  { name: 'W3', title: 'MLP 784-512-512-10, a step of batch 128', make: () => mlp(128) },
  {
    name: 'W4f',
    title: 'transformer block [8, 128, 256], forward',
    make: () => blockForward(block),
  },
  { name: 'W4', title: 'transformer block [8, 128, 256], a step', make: () => blockStep(block) },
  {
    name: 'W5',
    title: 'convolution [16, 32, 32, 32] → 64, gradients',
    make: () => convolution(16, 32),
  },
  { name: 'W6', title: `11 ops on ${elements} elements`, make: () => chain(elements) },
  { name: 'W7', title: 'CNN 1 × 28 × 28, a step of batch 64', make: () => cnn(64) },
  { name: 'W8', title: 'LSTM 64 × 32 × 32 → 128, a step', make: () => lstm(64, 32) },
  { name: 'W9', title: 'reduced CSWin, a step of batch 8', make: () => cswin(8) },
  {
    name: 'W10',
    title: 'MobileNet block [8, 64, 32, 32], gradients',
    make: () => mobileBlock(8, 32),
  },
  {
    name: 'W11',
    title: '64 greedy tokens, 6 layers, width 256, cache',
    repeat: 64,
    make: () => decoding(decoder),
  },
  { name: 'W12', title: 'AdamW over 200 tensors, width 256', make: () => adamw(256) },
];

/** These ops on small tensors. */
const small: readonly WorkDefinition[] = [
  { name: 'W1', title: 'a product', make: () => product(8) },
  { name: 'W2', title: `${tinyOps} ops on 16 elements`, ops: tinyOps, make: tiny },
  { name: 'W3', title: 'MLP', make: () => mlp(128) },
  {
    name: 'W4f',
    title: 'transformer block, forward',
    make: () => blockForward({ batch: 2, steps: 16, width: 32, heads: 2 }),
  },
  {
    name: 'W4',
    title: 'transformer block, a step',
    make: () => blockStep({ batch: 2, steps: 16, width: 32, heads: 2 }),
  },
  { name: 'W5', title: 'convolution', make: () => convolution(2, 8) },
  { name: 'W6', title: 'element-wise ops', make: () => chain(5000) },
  { name: 'W7', title: 'CNN', make: () => cnn(4) },
  { name: 'W8', title: 'LSTM', make: () => lstm(4, 3) },
  { name: 'W10', title: 'MobileNet block', make: () => mobileBlock(2, 8) },
  {
    name: 'W11',
    title: 'decoding',
    make: () => decoding({ layers: 2, width: 32, heads: 2, vocabulary: 16, tokens: 8 }),
  },
  { name: 'W12', title: 'AdamW', make: () => adamw(8) },
];

/** `small`: for counts, which don't depend on sizes. */
export function works(size: 'usual' | 'small' = 'usual'): readonly WorkDefinition[] {
  return (size === 'small' ? small : usual).map((each) => ({
    ...each,
    make: () => {
      seed(1);
      return each.make();
    },
  }));
}
