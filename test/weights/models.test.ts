/** Models of Hugging Face and PyTorch, built from our modules: their weights load and the logits agree. */

import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { GPT2, gpt2Name } from '../../examples/gpt2-model.ts';
import { memory, nn, tidy } from '../../runtime/index.ts';
import { openWeights, type StateNames, torchName } from '../../runtime/weights/index.ts';
import { logitsOf, ViT, vitName } from './models.ts';

const fixtures = join(import.meta.dirname, 'fixtures');

const gpt2Config = { vocabulary: 48, positions: 12, width: 16, layers: 2, heads: 2 };
const vitConfig = { width: 16, layers: 2, heads: 2, hidden: 24, image: 8, patch: 4, labels: 5 };

interface ModelCase {
  readonly file: string;
  readonly make: () => nn.Module;
  readonly recorded: string;
  readonly input: string;
  readonly names: StateNames;
}

const cases: readonly ModelCase[] = [
  {
    file: 'gpt2/model.safetensors.index.json',
    make: () => new GPT2(gpt2Config),
    recorded: 'gpt2-logits.npz',
    input: 'ids',
    names: gpt2Name,
  },
  {
    file: 'gpt2.pt',
    make: () => new GPT2(gpt2Config),
    recorded: 'gpt2-logits.npz',
    input: 'ids',
    names: gpt2Name,
  },
  {
    file: 'vit/model.safetensors',
    make: () => new ViT(vitConfig),
    recorded: 'vit-logits.npz',
    input: 'images',
    names: vitName,
  },
];

const opened: { dispose(): void }[] = [];
afterEach(() => {
  for (const each of opened.splice(0)) each.dispose();
});

describe('weights written by Hugging Face and PyTorch', () => {
  it.each(cases)(
    'give the recorded logits: $file',
    async ({ file, make, recorded, input, names }) => {
      const model = make().eval();
      opened.push(model);
      await using weights = await openWeights(join(fixtures, file));
      expect(await weights.loadInto(model, { names })).toEqual({ missing: [], unexpected: [] });
      await using arrays = await openWeights(join(fixtures, recorded));
      const given = await arrays.tensor(input);
      const expected = await arrays.tensor('logits');
      opened.push(given, expected);
      const found = await logitsOf(model, given);
      const wanted = await expected.data();
      expect(found.length).toBe(wanted.length);
      const difference = Math.max(...found.map((value, i) => Math.abs(value - wanted[i]!)));
      expect(difference).toBeLessThan(1e-4);
      expect(Math.max(...wanted.map(Math.abs))).toBeGreaterThan(0.5);
    },
  );

  it.each(cases)('load by names into a state as well: $file', async ({ file, make, names }) => {
    const [direct, copied] = [make(), make()];
    opened.push(direct, copied);
    await using weights = await openWeights(join(fixtures, file));
    await weights.loadInto(direct, { names });
    const state = await weights.state();
    const result = copied.loadStateDict(state, { names, strict: false });
    expect(result.unexpected).toEqual([]);
    for (const [name, tensor] of Object.entries(direct.stateDict())) {
      expect([name, await tensor.data()]).toEqual([name, await copied.stateDict()[name]!.data()]);
    }
    for (const tensor of Object.values(state)) tensor.dispose();
  });

  it('of nn have the names of PyTorch but for the case of letters', async () => {
    class Layers extends nn.Module {
      readonly norm = new nn.BatchNorm1d(6);
      readonly rnn = new nn.LSTM(6, 4, { numLayers: 2, bidirectional: true });
      override forward(): never {
        throw new Error('not run');
      }
    }
    for (const file of ['layers.pt', 'legacy.pt', 'layers.npz']) {
      const model = new Layers();
      opened.push(model);
      await using weights = await openWeights(join(fixtures, file));
      const result = await weights.loadInto(model, { names: torchName });
      expect(result).toEqual({ missing: [], unexpected: [] });
      const own = model.stateDict()['rnn.weightIhL1Reverse']!;
      const there = await weights.tensor('rnn.weight_ih_l1_reverse');
      expect(await own.data()).toEqual(await there.data());
      there.dispose();
    }
  });
});

describe('bytes', () => {
  it('a module takes no memory on its device beyond its own while it is loaded', async () => {
    const model = new ViT(vitConfig);
    opened.push(model);
    await using weights = await openWeights(join(fixtures, 'vit/model.safetensors'));
    const before = memory.stats('cpu').allocated;
    memory.reset('cpu');
    await weights.loadInto(model, { names: vitName });
    expect(memory.stats('cpu').allocated).toBe(before);
    expect(memory.stats('cpu').peakAllocated).toBe(before);
  });

  it('a state of the file takes the bytes of its tensors', async () => {
    await using weights = await openWeights(join(fixtures, 'vit/model.safetensors'));
    const before = memory.stats('cpu').allocated;
    memory.reset('cpu');
    const state = await weights.state();
    const { allocated, peakAllocated } = memory.stats('cpu');
    expect(peakAllocated).toBe(allocated);
    for (const tensor of Object.values(state)) tensor.dispose();
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('goes to another device without a copy on this one', async () => {
    const model = tidy(() => new ViT(vitConfig).to('meta'));
    opened.push(model);
    await using weights = await openWeights(join(fixtures, 'vit/model.safetensors'));
    memory.reset('cpu');
    const before = memory.stats('cpu');
    await weights.loadInto(model, { names: vitName });
    const tensor = await weights.tensor('classifier.bias', 'meta');
    expect(tensor.device.name).toBe('meta');
    expect(memory.stats('cpu').peakAllocated).toBe(before.allocated);
    tensor.dispose();
  });
});
