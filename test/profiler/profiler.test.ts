/** What a recording says of eager ops, captured functions, copies and asynchronous work. */

import { afterEach, describe, expect, it } from 'vitest';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import type { Profile } from '../../runtime/profiler/profile.ts';
import type { ProfileRow } from '../../runtime/profiler/profile-rows.ts';
import { spans } from '../../runtime/profiler/spans.ts';
import { profiler, randn, relu, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';

afterEach(() => {
  expect(spans.active).toBe(false);
});

function rowOf(profile: Profile, name: string): ProfileRow {
  const row = profile.rows().find((each) => each.name === name);
  if (!row) throw new Error(`no row ${name} among ${profile.rows().map((each) => each.name)}`);
  return row;
}

describe('profiler', () => {
  it('has a row per op, with calls, kernels and bytes', () => {
    const x = randn([16, 16]);
    const { result, profile } = profiler.profile(() =>
      tidy(() => x.matmul(x).add(1).add(x).sum().itemSync()),
    );
    expect(result).toBe(x.matmul(x).add(1).add(x).sum().itemSync());
    const add = rowOf(profile, 'add');
    expect(add).toMatchObject({ calls: 2, kind: 'op', device: 'cpu', allocated: 2 * 1024 });
    const [compute, ...others] = add.nested;
    expect(others).toEqual([]);
    expect(compute).toMatchObject({ kind: 'kernel', calls: 2 });
    expect(compute!.total).toBeLessThanOrEqual(add.total);
    expect(add.self).toBeCloseTo(add.total - compute!.total, 6);
    expect(add.min).toBeLessThanOrEqual(add.average);
    expect(add.average).toBeLessThanOrEqual(add.max);
    expect(rowOf(profile, 'sum').calls).toBe(1);
    expect(profile.devices).toEqual(['cpu']);
    const parts = profile.computation + profile.copies.sync.total + profile.overhead;
    expect(parts).toBeCloseTo(profile.duration, 6);
  });

  it('counts copies and their bytes, under what caused them', () => {
    const { profile } = profiler.profile(() =>
      profiler.span('there and back', () => tensor(new Float32Array(100)).dataSync()),
    );
    expect(profile.copies.sync).toMatchObject({ calls: 2, bytes: 800 });
    expect(profile.copies.async).toEqual({ calls: 0, bytes: 0, total: 0 });
    const { nested } = rowOf(profile, 'there and back');
    expect(nested.map(({ name, bytes }) => [name, bytes]).sort()).toEqual([
      ['MemcpySync:cpu->host', 400],
      ['MemcpySync:host->cpu', 400],
    ]);
  });

  it('shows runs of programs, their ops, backward and compilation', () => {
    const [x, w] = [randn([8, 4]), randn([4, 4]).requiresGrad_()];
    const layer = toStatic(function layer(input: Tensor) {
      return relu(input.matmul(w)).sum();
    });
    const run = () => layer(x).backward();
    const { profile: first } = profiler.profile(run);
    expect(rowOf(first, 'trace layer').kind).toBe('compile');
    expect(first.compiling).toBeGreaterThan(0);
    w.grad = null;
    run();
    const { profile } = profiler.profile(run);
    expect(profile.compiling).toBe(0);
    expect(rowOf(profile, 'call layer').calls).toBe(1);
    expect(rowOf(profile, 'run_program').calls).toBe(1);
    expect(rowOf(profile, 'run_program backward').calls).toBe(1);
    // In forward with its activation; backward multiplies once more for the weight.
    expect(rowOf(profile, 'fused(matmul·relu)').calls).toBe(1);
    expect(rowOf(profile, 'matmul').calls).toBe(1);
    const program = profile.spans.findIndex(({ name }) => name === 'run_program');
    const product = profile.spans.find(({ name }) => name === 'fused(matmul·relu)')!;
    expect(product.parent).toBe(program);
    expect(product.at?.file).toContain('profiler.test.ts');
  });

  it('a span inside a captured function breaks no graph', () => {
    const layer = toStatic((x: Tensor) => profiler.span('part', () => x.mul(2)).exp());
    const x = tensor([1, 2]);
    layer(x);
    const { result, profile } = profiler.profile(() => layer(x));
    expect(result.dataSync()).toEqual(x.mul(2).exp().dataSync());
    expect(layer.stats()).toMatchObject({ graphs: 1, breaks: [] });
    expect(profile.rows().map(({ name }) => name)).not.toContain('part');
    expect(rowOf(profile, 'fused(mul·exp)').calls).toBe(1);
  });

  it('records asynchronous work to its end, also what overlaps', async () => {
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const { result, profile } = await profiler.profile(async () => {
      const both = [profiler.span('slow', () => wait(30)), profiler.span('fast', () => wait(5))];
      await Promise.all(both);
      return tensor([1, 2]).add(1).data();
    });
    expect([...result]).toEqual([2, 3]);
    // Timers may fire a little early.
    expect(rowOf(profile, 'slow').max).toBeGreaterThan(28);
    expect(rowOf(profile, 'fast').max).toBeLessThan(rowOf(profile, 'slow').max);
    expect(rowOf(profile, 'add').calls).toBe(1);
  });

  it('ends with an exception, which passes', async () => {
    const fail = () => {
      throw new RangeError('mine');
    };
    expect(() => profiler.profile(() => profiler.span('part', fail))).toThrow('mine');
    await expect(profiler.profile(async () => fail())).rejects.toThrow('mine');
    const { profile } = profiler.profile(() => {
      expect(() => profiler.span('part', fail)).toThrow('mine');
      return tensor([1]).neg();
    });
    // The failed part has ended: what follows is not inside it.
    expect(profile.spans.find(({ name }) => name === 'neg')!.parent).toBe(-1);
  });

  it('refuses what makes no recording', () => {
    expect(() => profiler.stop()).toThrow(ArgumentError);
    profiler.start();
    expect(() => profiler.start()).toThrow(/already recording/);
    expect(() => profiler.profile(() => 1)).toThrow(/already recording/);
    const profile = profiler.stop();
    expect(() => profile.report({ sort: 'size' as 'total' })).toThrow(/sort has a wrong value/);
    expect(profile.rows()).toEqual([]);
    expect(profiler.span('alone', () => 3)).toBe(3);
  });
});
