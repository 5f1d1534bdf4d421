/** The parts that modules are made by: loops, layouts, merged code, types. */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { workload } from '../../../examples/workloads/char-transformer.ts';
import { programParts } from '../../../runtime/save/loaded-program.ts';
import { type LiveRange, layOut, mostLive } from '../../../src/7-plan/arena/layout.ts';
import { exportModule } from '../../../src/export/index.ts';
import { textOf } from '../../../src/export/module/emit/item-text.ts';
import { inLoops } from '../../../src/export/module/emit/loops.ts';
import type { Statement } from '../../../src/export/module/emit/statements.ts';
import { writeModule } from '../../../src/export/module/export-module.ts';
import { exactLayout } from '../../../src/export/module/plan/exact-layout.ts';
import { loadProgram, save, seed, toStatic } from '../../../src/index.ts';
import { hasRelaxedSimd, withRelaxedSimd } from '../../node-options.ts';
import { withSources } from '../../source-process.ts';

function randomNumbers(first: number): (below: number) => number {
  let state = first;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return Math.floor(((state >>> 0) / 2 ** 32) * below);
  };
}

/** Statements of nested loops, unrolled, with others between them. */
function unrolled(below: (most: number) => number): Statement[] {
  const statements: Statement[] = [];
  const nest = (depth: number, base: number): void => {
    const count = 1 + below(5);
    const step = below(4) * 4 - 4;
    for (let i = 0; i < count; i++) {
      const at = base + i * step;
      for (let k = 0; k < 1 + depth; k++) {
        const numbers = [at + k, -0.5, { id: 3, form: 'number', plus: i * step } as const];
        statements.push({ kind: 'statement', text: `k${depth}(#,#,#)`, numbers });
      }
      if (depth < 2) nest(depth + 1, at * 2);
    }
  };
  for (let i = 0; i < 3; i++) nest(0, below(1000));
  return statements;
}

/** The calls that statements make. */
function callsOf(lines: readonly string[]): unknown[] {
  const calls: unknown[] = [];
  const names = ['k0', 'k1', 'k2'];
  const kernels = names.map(
    (name) =>
      (...args: number[]) =>
        calls.push([name, ...args]),
  );
  new Function(...names, 's3', lines.join('\n'))(...kernels, 100);
  return calls;
}

describe('loops', () => {
  it('make the calls of the statements that they stand for, in order', () => {
    let [before, after] = [0, 0];
    for (let first = 1; first <= 200; first++) {
      const statements = unrolled(randomNumbers(first));
      const looped = inLoops(statements);
      expect(callsOf(textOf(looped))).toEqual(callsOf(textOf(statements)));
      before += statements.length;
      after += looped.length;
    }
    expect(after).toBeLessThan(before / 3);
  });

  it('are few statements for many kernels of a model', async () => {
    seed(3);
    const { step, inputs } = workload.build({ batch: 2 });
    const compiled = toStatic(step, { fullGraph: true });
    for (let i = 0; i < 3; i++) compiled(...inputs(i));
    const loaded = await loadProgram(await save(compiled));
    const parts = programParts(loaded)!;
    const { saved, planned } = parts.entries.at(-1)!;
    const choice = { data: null, relaxedSimd: true };
    const written = writeModule(parts, [{ saved, planned: planned! }], choice);
    expect(written.launches[0]).toBeGreaterThan(100);
    expect(written.statements[0]).toBeLessThan(written.launches[0]! / 2);
    loaded.dispose();
  });
});

describe('exact layouts', () => {
  /** Ranges as a plan has them: most die soon. */
  const rangesFor = (first: number): LiveRange[] => {
    const below = randomNumbers(first);
    return Array.from({ length: 40 }, (_, from) => {
      return { bytes: 64 * (1 + below(20)), from, to: from + 1 + below(below(3) === 0 ? 20 : 4) };
    });
  };

  it('overlap nowhere, and end at the most live bytes where other orders leave gaps', () => {
    let [improved, exact] = [0, 0];
    for (let first = 1; first <= 12; first++) {
      const ranges = rangesFor(first);
      const [usual, most] = [layOut(ranges), mostLive(ranges)];
      const { offsets, bytes } = exactLayout(ranges);
      expect(bytes).toBeLessThanOrEqual(usual.bytes);
      if (usual.bytes > most && bytes < usual.bytes) improved++;
      if (bytes === most) exact++;
      ranges.forEach((a, i) => {
        ranges.slice(i + 1).forEach((b, k) => {
          if (a.to < b.from || b.to < a.from) return;
          const [one, other] = [offsets[i]!, offsets[i + 1 + k]!];
          expect(one + a.bytes <= other || other + b.bytes <= one).toBe(true);
        });
      });
    }
    expect(improved).toBeGreaterThan(0);
    expect(exact).toBeGreaterThan(8);
  });
});

const tsc = join(import.meta.dirname, '../../../node_modules/typescript/bin/tsc');

describe('modules', () => {
  const double = `
    import { toStatic, ones } from './src/index.ts';
    import { exportModule } from './src/export/index.ts';
    const f = toStatic((x) => x.matmul(x).add(1), { fullGraph: true });
    f(ones([4, 4]));
    const codes = [];
    for (const relaxedSimd of [true, false]) {
      codes.push((await exportModule(f, { relaxedSimd })).code.match(/const code = '(.*)'/)[1]);
    }
    console.log(JSON.stringify(codes));`;

  it('need relaxed SIMD where their engine has it, unless that is not wanted', {
    timeout: 60_000,
  }, () => {
    const args = [...withRelaxedSimd, ...withSources, '--input-type=module'];
    const root = join(import.meta.dirname, '../../..');
    const printed = execFileSync(process.execPath, [...args, '-e', double], {
      cwd: root,
      encoding: 'utf8',
    });
    const [fused, separate] = (JSON.parse(printed) as string[]).map((code) =>
      Buffer.from(code, 'base64'),
    );
    // An engine that has it with an option alone tells which modules need it.
    expect(WebAssembly.validate(fused!)).toBe(hasRelaxedSimd);
    expect(WebAssembly.validate(separate!)).toBe(true);
    expect(fused!.equals(separate!)).toBe(false);
  });

  it('have the types of their arguments and results', async () => {
    const f = toStatic(
      (given: { x: { mul(by: number): unknown } }, by: number) => ({ y: given.x.mul(by) }),
      {
        fullGraph: true,
      },
    ) as unknown as (given: unknown, by: number) => unknown;
    const { tensor } = await import('../../../src/index.ts');
    for (const by of [2, 3, 4]) f({ x: tensor([1, 2]) }, by);
    const { declarations } = await exportModule(f as never);
    const use = `import { instantiate, memory } from './f.mjs';
const model = await instantiate({ seed: 1 });
const { y } = model.run({ x: new Float32Array(2) }, 3);
const data: Float32Array = y.data;
model.run({ x: { data, shape: [2] } }, memory.planned);
// @ts-expect-error: of another type
model.run({ x: new Int32Array(2) }, 3);
// @ts-expect-error: no number
model.run({ x: data }, 'three');
export const state: Record<string, { shape: readonly number[] }> = model.state();`;
    const folder = mkdtempSync(join(tmpdir(), 'module-types-'));
    try {
      writeFileSync(join(folder, 'f.d.mts'), declarations);
      writeFileSync(join(folder, 'use.mts'), use);
      const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022'];
      const args = [tsc, ...options, '--types', '', 'use.mts'];
      const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
      expect(stdout).toBe('');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
