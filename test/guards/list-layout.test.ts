/** Arrays of tensors, of any length and nested in objects: one text of them is guarded, so each trait must show in it. */

import { describe, expect, it } from 'vitest';

import { listLayout } from '../../src/guards/list-layout.ts';
import { init, stack, type Tensor, tensor, toStatic } from '../../src/index.ts';

await init('cpu:1');
const plain = () => tensor([1, 2, 3, 4]).reshape(2, 2);

/** Tensors of which each two differ in one trait that programs depend on. */
const tensors: Readonly<Record<string, () => Tensor>> = {
  plain,
  integers: () => plain().to('int32'),
  'with a gradient': () => plain().detach().requiresGrad_(),
  'on another device': () => plain().to('cpu:1'),
  'of another shape': () => plain().reshape(4, 1),
  transposed: () => plain().t(),
};

/** Elements of which each two differ, given one tensor. */
const nested: Readonly<Record<string, (x: Tensor) => unknown>> = {
  'a tensor': (x) => x,
  'in an object': (x) => ({ x }),
  'under another key': (x) => ({ y: x }),
  'in a deeper object': (x) => ({ x: { x } }),
  'in an array': (x) => [x],
  'under the key of an array': (x) => ({ 0: x }),
  'with another key': (x) => ({ x, y: plain() }),
  'with another key before it': (x) => ({ y: plain(), x }),
  'with a key that looks like the text of a layout': (x) => ({ 'x": f32[2,2] on cpu, "y': x }),
};

/** Elements that no text describes: reading them runs user code, or not all that is in them is a tensor. */
const undescribed: Readonly<Record<string, (x: Tensor) => unknown>> = {
  'a number': () => 2,
  null: () => null,
  undefined: () => undefined,
  'an empty object': () => ({}),
  'a number beside it': (x) => ({ x, y: 1 }),
  'a getter': (x) => Object.defineProperty({}, 'x', { enumerable: true, get: () => x }),
  'a property that is not enumerable': (x) => Object.defineProperty({ x }, 'y', { value: x }),
  'a Proxy': (x) => new Proxy({ x }, {}),
  'an instance': (x) =>
    new (class {
      x = x;
    })(),
  'no prototype': (x) => Object.assign(Object.create(null) as object, { x }),
  'a symbol': (x) => ({ x, [Symbol.iterator]: x }),
  'a subclass of Array': (x) => class extends Array<Tensor> {}.of(x),
  'an array with a name': (x) => Object.assign([x], { x }),
  'a cycle': (x) => {
    const element: Record<string, unknown> = { x };
    element.self = element;
    return element;
  },
  'freed memory': (x) => {
    const freed = x.mul(2);
    freed.dispose();
    return freed;
  },
};

describe('the layout of an array of tensors', () => {
  const elements = [
    ...Object.entries(tensors).map(([name, make]) => ({ name, value: make() as unknown })),
    ...Object.entries(nested)
      .slice(1)
      .map(([name, make]) => ({ name, value: make(plain()) })),
    ...Object.entries(tensors)
      .slice(1)
      .map(([name, make]) => ({ name: `${name}, in an object`, value: { x: make() } as unknown })),
  ];

  it('is one text for equal elements in the same order, and another text for others', () => {
    const named = new Map<string, string>();
    const pairs = elements.flatMap((a) => elements.map((b) => [a, b]));
    const lists = [[], ...elements.map((a) => [a]), ...pairs];
    lists.push(...pairs.map(([a, b]) => [a!, a!, b!]), ...pairs.map(([a, b]) => [a!, b!, b!]));
    for (const list of lists) {
      const names = list.map(({ name }) => name).join('; ');
      const text = listLayout(list.map(({ value }) => value))!;
      expect(text).toBeTypeOf('string');
      expect(named.get(text) ?? names).toBe(names);
      named.set(text, names);
    }
    for (const { value } of elements) {
      const copy = value instanceof Object && 'dtype' in value ? value : shallowCopy(value);
      expect(listLayout([copy, value])).toBe(listLayout([value, value]));
    }
  });

  it('counts equal elements', () => {
    const [a, b] = [plain(), tensors.transposed!()];
    expect(listLayout([a, a, b, b, a])).toBe(
      '2 × float32[2,2] on cpu; 2 × float32[2,2] strides 1,2 on cpu; 1 × float32[2,2] on cpu; ',
    );
    expect(listLayout(Array.from({ length: 100 }, () => ({ a })))).toBe(
      '100 × {"a": float32[2,2] on cpu, }; ',
    );
  });

  it.each(Object.keys(undescribed))('is undefined for %s, wherever it is', (name) => {
    const element = undescribed[name]!(plain());
    for (const list of [[element], [element, plain()], [plain(), element], [{ x: element }]])
      expect(listLayout(list)).toBe(undefined);
  });

  it('is undefined for missing elements and getters', () => {
    // biome-ignore lint/suspicious/noSparseArray: this is what the test is about
    expect(listLayout([plain(), , plain()])).toBe(undefined);
    const withGetter = [plain(), plain()];
    Object.defineProperty(withGetter, 1, { get: plain });
    expect(listLayout(withGetter)).toBe(undefined);
  });
});

/** Copies plain objects and arrays, not their tensors. */
function shallowCopy(value: unknown): unknown {
  return Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) };
}

describe('a captured function of an array of any length', () => {
  const functions: Readonly<Record<string, (list: unknown[]) => Tensor>> = {
    'a loop': (list) => {
      const found: Tensor[] = [];
      for (const element of list) found.push((element as { x: Tensor }).x.mul(2));
      return stack(found);
    },
    'the keys': (list) => {
      const found: Tensor[] = [];
      for (const element of list) {
        for (const key of Object.keys(element as object)) {
          found.push((element as Record<string, Tensor>)[key]!.mul(key.length));
        }
      }
      return stack(found);
    },
  };
  const outcome = (f: (list: unknown[]) => Tensor, list: unknown[]) => {
    try {
      const result = f(list);
      const { dtype, shape, requiresGrad, device } = result;
      return { dtype, shape, requiresGrad, device: device.name, values: String(result.detach()) };
    } catch (error) {
      return (error as Error).message;
    }
  };

  it.each(Object.keys(functions))('does what the function does: %s', (name) => {
    const changed = [
      ...Object.values(tensors).map((make) => () => ({ x: make() })),
      ...[nested, undescribed].flatMap((all) =>
        Object.values(all).map((make) => () => make(plain())),
      ),
      () => ({ x: Object.assign(plain(), { mul: (by: number) => plain().add(by) }) }),
    ];
    for (const make of changed) {
      const captured = toStatic(functions[name]!);
      const [few, more, most] = [2, 3, 5].map((length) =>
        Array.from({ length }, () => ({ x: plain() })),
      ) as [unknown[], unknown[], unknown[]];
      const odd = make();
      for (const list of [few, more, [...more, odd], [odd, ...few], most]) {
        expect(outcome(captured, list)).toEqual(outcome(functions[name]!, list));
      }
    }
  });

  it('iterates over objects that contain themselves', () => {
    const weighted = toStatic((x: Tensor, nodes: readonly { readonly weight: number }[]) => {
      let y = x;
      for (const { weight } of nodes) y = y.mul(weight);
      return y;
    });
    for (const length of [2, 3, 4]) {
      const nodes = Array.from({ length }, () => {
        const node: { weight: number; self?: object } = { weight: 2 };
        node.self = node;
        return node;
      });
      expect(String(weighted(tensor([1]), nodes))).toBe(`tensor([${2 ** length}.])`);
    }
    expect(weighted.stats().fallbacks).toEqual([]);
  });
});
