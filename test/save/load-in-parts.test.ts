/** `load` of tostatic/load gives what `load` gives, and loads the ops that a file names. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { families } from '../../runtime/ops/op-families.ts';
import { load as loadInParts } from '../../runtime/save/in-parts/load-in-parts.ts';
import {
  type LoadedProgram,
  load,
  nn,
  noGrad,
  ones,
  rand,
  save,
  seed,
  type Tensor,
  tensorSpec,
  toStatic,
} from '../../src/index.ts';
import { bits } from './exercise.ts';

seed(1);
const mlp = new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 3));
const forward = (x: Tensor) => (mlp.forward(x) as Tensor).softmax(-1);

async function savedMlp(dim: number | string): Promise<Uint8Array> {
  const program = toStatic(forward, { inputSpec: [tensorSpec([dim, 4], 'float32')] });
  noGrad(() => program(rand([6, 4])));
  return save(program);
}

afterEach(() => vi.restoreAllMocks());

/** The families that a file loads. */
async function loadedBy(file: Uint8Array): Promise<readonly string[]> {
  const spies = Object.entries(families).map(
    ([name, family]) => [name, vi.spyOn(family, 'load')] as const,
  );
  await loadInParts(file);
  return spies.flatMap(([name, spy]) => (spy.mock.calls.length > 0 ? [name] : []));
}

describe('a page that loads programs in parts', () => {
  it.each([
    ['one size', 6, [6]],
    ['every size', 'n', [6, 1, 9, 40]],
  ] as const)(
    'runs one of %s to the bit, with the bytes of any other',
    async (_name, dim, sizes) => {
      const file = await savedMlp(dim);
      const [whole, parts] = [await load(file), await loadInParts(file)] as LoadedProgram[];
      for (const n of sizes) {
        const x = rand([n, 4]);
        const [expected, found] = noGrad(() => [whole!(x), parts!(x)]) as Tensor[];
        expect(bits(found!)).toEqual(bits(expected!));
        expect(parts!.predicted()).toEqual(whole!.predicted());
        expect(parts!.predicted()!.peakBytes).toBeGreaterThan(0);
      }
    },
  );

  it('loads the families whose ops the file names', async () => {
    expect(await loadedBy(await savedMlp(6))).toEqual(['common', 'products', 'softmax']);
    expect(await loadedBy(await savedMlp('n'))).toEqual(['common', 'products', 'softmax']);
  });

  it('loads none for tensors and plain data', async () => {
    const file = await save({ weight: ones([2]), epoch: 3 });
    expect(await loadedBy(file)).toEqual([]);
    expect(await loadInParts(file)).toMatchObject({ epoch: 3 });
  });
});
