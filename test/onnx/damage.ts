/** Random changes to the settings of a model: what a writer may get wrong, or a stranger may have put there. */

import fc from 'fast-check';
import type {
  OnnxAttribute,
  OnnxGraph,
  OnnxNode,
  OnnxTensor,
} from '../../runtime/onnx/format/proto.ts';
import { operators } from '../../runtime/onnx/operators.ts';
import { modelFile } from './model-file.ts';
import type { OperatorSample } from './operator-samples.ts';

export interface DamagedModel {
  readonly model: Uint8Array;
  /** The shape of the input. */
  readonly shape: readonly number[];
  readonly changes: readonly string[];
}

const extremeInts = [
  0,
  -1,
  1,
  2,
  3,
  -3,
  7,
  16,
  64,
  -65,
  1000,
  2 ** 31,
  -(2 ** 31),
  2 ** 40,
  2 ** 53,
  -(2 ** 63),
];
const extremeFloats = [0, -1, 0.5, 1e30, -1e-30, Number.NaN, Number.POSITIVE_INFINITY];
const words = [
  '',
  'NOTSET',
  'SAME_LOWER',
  'constant',
  'edge',
  '__proto__',
  'toString',
  'a,b->',
  'ij->ji',
  'tanh',
  'forward',
  'Relu',
  '...i->',
  'mul',
];

/** Attributes that other operators have. */
const attributeNames = [
  'axis',
  'axes',
  'perm',
  'to',
  'keepdims',
  'pads',
  'strides',
  'dilations',
  'group',
  'kernel_shape',
  'auto_pad',
  'mode',
  'alpha',
  'split',
  'num_outputs',
  'blocksize',
  'output_shape',
  'direction',
  'layout',
  'hidden_size',
  'value',
  'activations',
  'clip',
  'p',
  'approximate',
  'reduction',
  'start',
  'end',
  '__proto__',
  'then_branch',
  'value_ints',
] as const;

const shapes = [
  [],
  [0],
  [4],
  [3, 4],
  [4, 3],
  [3, 0],
  [2, 3, 4],
  [1, 2, 5],
  [1, 4, 4, 4],
  [1, 2, 3, 2, 2],
];

/** Choices that a change makes, each a number from 0 to 2^32. */
class Choices {
  readonly #numbers: readonly number[];
  #next = 0;
  constructor(numbers: readonly number[]) {
    this.#numbers = numbers;
  }
  of<T>(items: readonly T[]): T {
    const number = this.#numbers[this.#next++ % this.#numbers.length]!;
    return items[number % items.length]!;
  }
  between(low: number, high: number): number {
    return this.of(Array.from({ length: high - low + 1 }, (_, i) => low + i));
  }
}

type Change = (main: OnnxGraph, choose: Choices) => string;

const attributeOf = (name: string, type: number): OnnxAttribute => ({
  name,
  type,
  floats: [],
  ints: [],
  strings: [],
});

function setValue(attribute: OnnxAttribute, choose: Choices): void {
  const number = () => choose.of(extremeInts);
  const real = () => choose.of(extremeFloats);
  const text = () => new TextEncoder().encode(choose.of(words));
  const times = <T>(make: () => T) => Array.from({ length: choose.between(0, 4) }, make);
  switch (attribute.type) {
    case 1:
      attribute.f = real();
      break;
    case 2:
      attribute.i = number();
      break;
    case 3:
      attribute.s = text();
      break;
    case 6:
      attribute.floats = times(real);
      break;
    case 7:
      if (attribute.ints.length > 0 && choose.of([true, false])) {
        attribute.ints[choose.between(0, attribute.ints.length - 1)] = number();
      } else attribute.ints = times(number);
      break;
    case 8:
      attribute.strings = times(text);
      break;
    case 4:
      if (attribute.t) damageTensor(attribute.t, choose);
      break;
    default:
  }
}

function damageTensor(tensor: OnnxTensor, choose: Choices): string {
  const lists = ['floatData', 'int64Data', 'int32Data'] as const;
  const list = lists.find((name) => tensor[name].length > 0);
  const what = choose.of(['value', 'value', 'value', 'list', 'dim', 'dims', 'type', 'matched']);
  const numbersOf = (name: typeof list) =>
    name === 'floatData'
      ? [...extremeFloats, ...extremeInts]
      : name === 'int32Data'
        ? extremeInts.filter((value) => Math.abs(value) < 2 ** 31)
        : extremeInts;
  if (what === 'value' && list)
    tensor[list][choose.between(0, tensor[list].length - 1)] = choose.of(numbersOf(list));
  else if (what === 'dim' && tensor.dims.length > 0)
    tensor.dims[choose.between(0, tensor.dims.length - 1)] = choose.of(extremeInts);
  else if (what === 'dims') tensor.dims = [...choose.of(shapes)];
  else if (what === 'type') tensor.dataType = choose.between(0, 23);
  else if (list) {
    const length = choose.between(0, 5);
    tensor[list] = Array.from({ length }, () => choose.of(numbersOf(list)));
    if (what === 'matched') tensor.dims = [length];
  }
  return `${tensor.name}: ${what} -> [${list ? tensor[list].slice(0, 6) : ''}] of ${tensor.dims.join('x')}, type ${tensor.dataType}`;
}

/** A graph of the model: the main one or a nested one. */
function graphsIn(main: OnnxGraph): OnnxGraph[] {
  return [
    main,
    ...main.node.flatMap(({ attribute }) => attribute.flatMap(({ g }) => (g ? graphsIn(g) : []))),
  ];
}

function nodeIn(main: OnnxGraph, choose: Choices): OnnxNode {
  return choose.of(graphsIn(main).flatMap((own) => own.node));
}

const show = (attribute: OnnxAttribute): string =>
  `${attribute.name} = ${attribute.f ?? attribute.i ?? (attribute.s ? new TextDecoder().decode(attribute.s) : '')}${attribute.ints} (${attribute.type})`;

const changes: Readonly<Record<string, Change>> = {
  attribute(main, choose) {
    const node = nodeIn(main, choose);
    if (node.attribute.length === 0) return 'none';
    const attribute = choose.of(node.attribute);
    setValue(attribute, choose);
    return show(attribute);
  },
  'kind of attribute'(main, choose) {
    const node = nodeIn(main, choose);
    if (node.attribute.length === 0) return 'none';
    const attribute = choose.of(node.attribute);
    attribute.type = choose.between(0, 9);
    setValue(attribute, choose);
    return `kind of ${show(attribute)}`;
  },
  'lost attribute'(main, choose) {
    const node = nodeIn(main, choose);
    const lost = node.attribute.splice(
      choose.between(0, Math.max(0, node.attribute.length - 1)),
      1,
    );
    return `without ${lost.map(({ name }) => name)}`;
  },
  'new attribute'(main, choose) {
    const attribute = attributeOf(choose.of(attributeNames), choose.of([1, 2, 3, 6, 7, 8]));
    setValue(attribute, choose);
    nodeIn(main, choose).attribute.push(attribute);
    return `new ${show(attribute)}`;
  },
  initializer(main, choose) {
    if (main.initializer.length === 0) return 'none';
    return damageTensor(choose.of(main.initializer), choose);
  },
  operand(main, choose) {
    const node = nodeIn(main, choose);
    const names = [
      ...new Set([
        '',
        'x',
        'nothing',
        ...main.initializer.map(({ name }) => name!),
        ...node.input,
        ...node.output,
      ]),
    ];
    const at = choose.between(0, node.input.length);
    node.input[at] = choose.of(names);
    return `operands ${node.input}`;
  },
  'fewer operands'(main, choose) {
    const node = nodeIn(main, choose);
    node.input.length = choose.between(0, Math.max(0, node.input.length - 1));
    return `operands ${node.input}`;
  },
  outputs(main, choose) {
    const node = nodeIn(main, choose);
    if (choose.of([true, false])) node.output.push('another');
    else node.output.reverse();
    if (choose.of([true, false])) main.output = node.output.map((name) => ({ name }));
    return `outputs ${node.output}`;
  },
  operator(main, choose) {
    const node = nodeIn(main, choose);
    node.opType = choose.of([...Object.keys(operators), 'If', 'Loop', 'Constant', 'toString']);
    return `operator ${node.opType}`;
  },
};

/** What to change: kinds of changes, and the choices that they make. */
export interface Damage {
  readonly kinds: readonly string[];
  readonly numbers: readonly number[];
  readonly opset: number;
  readonly shape: readonly number[] | null;
}

/** One to three changes, an opset, perhaps another shape of the input. */
export const anyDamage: fc.Arbitrary<Damage> = fc.record({
  kinds: fc.array(fc.constantFrom(...Object.keys(changes)), { minLength: 1, maxLength: 3 }),
  numbers: fc.array(fc.nat(2 ** 31 - 1), { minLength: 16, maxLength: 32 }),
  opset: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 13, max: 22 }) },
    fc.constantFrom(-1, 0, 12, 23, 2 ** 31),
  ),
  shape: fc.option(fc.constantFrom(...shapes), { nil: null, freq: 1 }),
});

export function damaged(sample: OperatorSample, damage: Damage): DamagedModel {
  const main = structuredClone(sample.graph);
  const choose = new Choices(damage.numbers);
  const made = damage.kinds.map((kind) => changes[kind]!(main, choose));
  const shape = damage.shape ?? sample.x;
  const also = [`opset ${damage.opset}`, `x of [${shape.join(', ')}]`];
  return { model: modelFile(main, damage.opset), shape, changes: [...made, ...also] };
}
