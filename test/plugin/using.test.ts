import { transformSync } from 'esbuild';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../src/index.ts';
import { notTested } from '../not-tested.ts';
import { instrument, loadModule, withoutInspector } from './load-module.ts';

afterEach(() => void vi.restoreAllMocks());

type Run = (x: Tensor, log: unknown[], fails?: boolean) => unknown;

/** Functions that hold tensors and objects of the user's by `using`. */
const programs: Readonly<Record<string, string>> = {
  'a tensor': '(x) => { using y = x.mul(2); return y.add(1); }',
  'a tensor that is returned':
    '(x) => { let out; { using y = x.mul(2); out = y.add(y); } return [out, out.disposed]; }',
  'tensors of a loop':
    '(x) => { let sum = x; for (using row of [x.mul(2), null, x.exp()]) if (row) sum = sum.add(row); return sum; }',
  'an argument': '(x, log) => { using own = x; log.push(own.disposed); return own.mul(3); }',
  'objects, last in, first out': `(x, log) => {
    const open = (name) => ({ name, [Symbol.dispose]() { log.push(this.name, x.sum()); } });
    using a = open('a'); { using b = open('b'), c = open('c'); log.push(c.name); } return x.mul(2);
  }`,
  'a throw': `(x, log, fails) => {
    using a = { [Symbol.dispose]() { log.push('closed'); } }; using y = x.mul(2);
    if (fails) throw new RangeError('body'); return y.sum();
  }`,
  'an error of disposing': `(x, log, fails) => {
    using a = { [Symbol.dispose]() { if (fails) throw new RangeError('closing'); } }; return x.mul(2);
  }`,
};

/** As compilers lower it, and as engines that know `using` run it. */
const forms: Record<string, (code: string) => string> = {
  lowered: (code) => instrument(transformSync(code, { target: 'es2022' }).code),
  'lowered behind the plugin': (code) => transformSync(instrument(code), { target: 'es2022' }).code,
  ...(knowsUsing() && { native: (code) => instrument(code) }),
};

function knowsUsing(): boolean {
  try {
    new Function('using x = null;');
    return true;
  } catch {
    notTested('using, untransformed', 'this Node does not know it (a page of test/plugin does)');
    return false;
  }
}

async function outcome(f: Run, fails: boolean): Promise<unknown> {
  const [x, log] = [tensor([1, -2, 3]), []];
  const plain = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(plain) : isTensor(value) ? value.tolist() : value;
  try {
    return plain([await f(x, log, fails), log, x.disposed]);
  } catch (error) {
    return [(error as Error).name, (error as Error).message, plain(log), x.disposed];
  }
}

const isTensor = (value: unknown): value is Tensor =>
  typeof value === 'object' && value !== null && 'tolist' in value;

describe.each(Object.entries(forms))('using, %s', (_form, formed) => {
  it.each(Object.entries(programs))('%s', async (name, text) => {
    const module = await loadModule(formed(`export const f = ${text};`));
    withoutInspector();
    const f = module.f as Run;
    const captured = toStatic(f);
    for (const fails of [false, false, true, false]) {
      expect(await outcome(captured, fails)).toEqual(await outcome(f, fails));
    }
    const { breaks, fallbacks } = captured.stats();
    expect(fallbacks).toEqual([]);
    if (!/throw|error/.test(name)) expect(breaks).toEqual([]);
  });
});
