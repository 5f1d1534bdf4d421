/** Loops whose iterations the host counts are kept one by one: `keepLoop()`. */

import { describe, expect, it } from 'vitest';
import type { ProgramOp } from '../../../runtime/program/program.ts';
import { keepLoop, type Tensor, tensor, toStatic } from '../../../src/index.ts';
import type { Never } from '../paths-taken.ts';
import { type Checked, sameAsEager } from '../suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();
/** The host counts the iterations: at least one. */
const known = (text: string, iterations = 2): Never[] => [
  ['no iteration', text, 'the host counts more'],
  [iterations > 1 ? 'one iteration' : 'many iterations', text, 'the host counts others'],
];
const opsOf = ({ graph }: Checked) => graph.programs()[0]!.stages!.forward.ops.length;
/** Those inside of regions, too. */
const countOps = (ops: readonly ProgramOp[]): number =>
  ops.reduce((sum, { regions = [] }) => {
    return regions.reduce((inner, { program }) => inner + countOps(program.ops), sum + 1);
  }, 0);
const decisions = ({ graph }: Checked) =>
  graph.explain().split('decisions on graph values:\n')[1]!.split('\n\n')[0]!;

describe('keepLoop()', () => {
  it('keeps the loop around the call, and no other', () => {
    const make = (turns: number, inner: number) => (x: Tensor) => {
      let y = x;
      for (let i = 0; i < turns; i++) {
        keepLoop();
        for (let j = 0; j < inner; j++) y = y.mul(0.9).add(j);
      }
      for (let i = 0; i < 2; i++) y = y.mul(2);
      return y;
    };
    const [few, many, longer] = [make(3, 2), make(50, 2), make(3, 4)].map((f) =>
      sameAsEager(f, [() => [x(1, 2)]], { never: known('turns; i++') }),
    ) as [Checked, Checked, Checked];
    expect(opsOf(many)).toBe(opsOf(few));
    const inside = [few, longer].map(({ graph }) => {
      return countOps(graph.programs()[0]!.stages!.traced.ops);
    });
    // The inner loop is unrolled.
    expect(inside[1]).toBeGreaterThan(inside[0]!);
    expect(few.graph.explain()).toMatch(
      /loop at .*keep-loop\.test\.ts:\d+:\d+: a while: keepLoop\(\) asks for it; carries \d+ values?/,
    );
  });

  it('of zero, one and many iterations, of while and for...of, in a callee and in a callback', () => {
    const scale = (y: Tensor, n: number) => {
      let z = y;
      let left = n;
      while (left > 0) {
        keepLoop();
        z = z.mul(1.5);
        left--;
      }
      return z;
    };
    for (const turns of [0, 1, 6]) {
      const rates = Array.from({ length: turns }, (_, i) => i / 4);
      const f = (x: Tensor) => {
        let y = scale(x.mul(2), turns);
        for (const rate of rates) {
          keepLoop();
          y = y.add(rate);
        }
        let z = y;
        rates.forEach((rate) => {
          keepLoop();
          z = z.mul(rate + 1);
        });
        return [y, z];
      };
      sameAsEager(f, [() => [x(1, 2)], () => [x(-1, 3)]], {
        never: turns === 0 ? [] : known('0) {', turns),
      });
    }
  });

  it('where that can not be, is unrolled, and explain says why', () => {
    const names = ['a', 'b', 'c'];
    const f = (x: Tensor) => {
      const made: Record<string, Tensor> = {};
      for (const name of names) {
        keepLoop();
        made[name] = x.mul(name.length);
      }
      return made;
    };
    const checked = sameAsEager(f, [() => [x(1, 2)]]);
    expect(decisions(checked)).toMatch(
      /loop at .*: unrolled, each exit a branch: as a loop of the program, /,
    );
  });

  it('does nothing outside of loops, of programs and of captured functions', () => {
    keepLoop();
    const f = (x: Tensor) => {
      keepLoop();
      let y = x;
      for (let i = 0; i < 3; i++) {
        keepLoop();
        y = y.mul(2);
      }
      return y;
    };
    sameAsEager(f, [() => [x(1, 2)]], { never: known('3; i++') });
    const broken = toStatic(f);
    const y = broken(x(1, 2));
    expect([...y.dataSync()]).toEqual([8, 16]);
    expect(broken.stats()).toMatchObject({ graphs: 1, breaks: [] });
  });
});
