/** Attention is found wherever the order of a plan puts its ops, and what is found may run together. */

import { describe, expect, it } from 'vitest';
import type { Program, ProgramOp } from '../../runtime/program/program.ts';
import { verifyProgram } from '../../runtime/program/verify/verify.ts';
import { attentionGroups, gathered } from '../../src/5-optimize/fuse/attention-groups.ts';
import {
  deviceGuard,
  matmul,
  scaledDotProductAttention,
  type Tensor,
  toStatic,
} from '../../src/index.ts';
import { passObservers } from '../../src/programs/pass-record.ts';
import { parameter } from './pass-case.ts';
import { tilingDevice } from './tiling-device.ts';

/** Two layers of attention and their gradients, as planned. */
function step(dropoutP: number): Program {
  const found: Program[] = [];
  const unsubscribe = passObservers.subscribe(({ pass, before }) => {
    if (pass === 'tileAttention') found.push(before);
  });
  const traced = toStatic(
    (x: Tensor, w: Tensor) => {
      let y = x;
      for (let layer = 0; layer < 2; layer++) {
        y = matmul(scaledDotProductAttention(y, matmul(y, w), y, { dropoutP }), w);
      }
      const loss = y.sum();
      loss.backward();
      return loss.detach();
    },
    { strict: true, memory: { prefer: 'bytes' } },
  );
  deviceGuard(tilingDevice, () => toStatic.warmup(traced, parameter(2, 48, 4), parameter(4, 4)));
  unsubscribe();
  // It is planned with and without scores that backward recomputes.
  return found.reduce((a, b) => (a.ops.length > b.ops.length ? a : b));
}

/** The program with its ops in another order in which each runs after what it reads. */
function reordered(program: Program, random: () => number): Program {
  const made = new Set(program.inputs);
  const waiting = [...program.ops];
  const ops: ProgramOp[] = [];
  while (waiting.length > 0) {
    const ready = waiting.filter(({ inputs }) => inputs.every((id) => made.has(id)));
    const next = ready[Math.floor(random() * ready.length)]!;
    waiting.splice(waiting.indexOf(next), 1);
    for (const id of next.outputs) made.add(id);
    ops.push(next);
  }
  return { ...program, ops };
}

describe.each([0, 0.5])('attention groups, dropout %d', (dropoutP) => {
  const program = step(dropoutP);
  const staying = new Set(program.outputs);
  const options = { fixed: new Set<never>(), sourcesOf: () => 0n };

  it('are found in the order of the plan: each attention and its gradient', () => {
    expect(attentionGroups(program, staying, options)).toHaveLength(4);
  });

  it('are found in most other orders, and run together in all of them', () => {
    let state = 7;
    const random = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state / 2 ** 32;
    };
    let found = 0;
    for (let i = 0; i < 50; i++) {
      const other = reordered(program, random);
      const groups = attentionGroups(other, staying, options);
      found += groups.length;
      const together = gathered(other, groups);
      verifyProgram(together.program);
      expect(new Set(together.program.ops)).toEqual(new Set(other.ops));
      for (const group of together.groups) {
        expect(group).toEqual(group.map((_, i) => group[0]! + i));
      }
    }
    expect(found).toBeGreaterThan(2 * 50);
  });

  it('are none where an op between writes what they read', () => {
    const groups = attentionGroups(program, staying, options);
    const { ops } = groups[0]!;
    const [query] = program.ops[ops.find((at) => program.ops[at]!.op.name === 'matmul')!]!.inputs;
    const write = program.ops.find(({ op }) => op.name === 'mulScalar')!;
    const inPlace = { ...write, op: { ...write.op, inPlace: true }, inputs: [query!], outputs: [] };
    const at = ops[1]!;
    const written = {
      ...program,
      ops: [...program.ops.slice(0, at), inPlace, ...program.ops.slice(at)],
    };
    expect(attentionGroups(written, staying, options).length).toBeLessThan(groups.length);
  });
});
