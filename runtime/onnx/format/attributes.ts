import { badWeights, shown } from '../../weights/bad-file.ts';
import { attributeType, type OnnxAttribute, type OnnxGraph, type OnnxTensor } from './proto.ts';

type AttributeValue =
  | number
  | string
  | readonly number[]
  | readonly string[]
  | { readonly graph: OnnxGraph }
  | { readonly tensor: OnnxTensor };

interface Bounds {
  readonly min?: number;
  readonly max?: number;
}

interface ListBounds extends Bounds {
  readonly count?: number;
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

function attributeValue(attribute: OnnxAttribute): AttributeValue | undefined {
  const { type, f, i, s, t, g, floats, ints, strings } = attribute;
  switch (type) {
    case attributeType.float:
      return f ?? 0;
    case attributeType.int:
      return i ?? 0;
    case attributeType.string:
      return text(s ?? new Uint8Array());
    case attributeType.tensor:
      return t && { tensor: t };
    case attributeType.graph:
      return g && { graph: g };
    case attributeType.floats:
      return floats;
    case attributeType.ints:
      return ints;
    case attributeType.strings:
      return strings.map(text);
    default:
      return undefined;
  }
}

/**
 * The attributes of a node; reading one as another kind throws DataError. They are frozen, because compiled
 * functions guard on the object's identity, not its contents.
 */
export class Attributes {
  readonly values: { readonly [name: string]: AttributeValue | undefined };
  readonly #node: string;

  constructor(node: string, attributes: readonly OnnxAttribute[]) {
    this.#node = node;
    const values: Record<string, AttributeValue> = Object.create(null);
    for (const attribute of attributes) {
      const value = attributeValue(attribute);
      if (value === undefined)
        throw this.#bad(attribute.name ?? '', 'a number, text, list, tensor or graph');
      values[attribute.name ?? ''] = Array.isArray(value) ? Object.freeze(value) : value;
    }
    this.values = Object.freeze(values);
    Object.freeze(this);
  }

  has(name: string): boolean {
    return this.values[name] !== undefined;
  }

  number(name: string, otherwise: number): number {
    const value = this.values[name] ?? otherwise;
    if (typeof value !== 'number') throw this.#bad(name, 'a number');
    return value;
  }

  /** Returns an integer from `min` to `max`. */
  int(name: string, otherwise: number, { min = -Infinity, max = Infinity }: Bounds = {}): number {
    const value = this.number(name, otherwise);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw this.#outside(name, value, { min, max });
  }

  /** 0 or 1. */
  flag(name: string, otherwise: boolean): boolean {
    return this.int(name, Number(otherwise), { min: 0, max: 1 }) === 1;
  }

  /** Returns integers ≥ `min`; `count` is their required number. Null if the attribute is absent. */
  ints(name: string, { min = -Infinity, max = Infinity, count }: ListBounds = {}) {
    const values = this.numbers(name);
    if (!values) return null;
    for (const value of values) {
      if (!Number.isInteger(value) || value < min || value > max) {
        throw this.#outside(name, value, { min, max });
      }
    }
    if (count === undefined || values.length === count) return values;
    throw this.#bad(name, `${count} numbers`, `${values.length} numbers`);
  }

  text(name: string, otherwise: string): string {
    const value = this.values[name] ?? otherwise;
    if (typeof value !== 'string') throw this.#bad(name, 'a text');
    return value;
  }

  /** Returns one of the given strings. */
  choice<T extends string>(name: string, choices: readonly T[], otherwise: T): T {
    const value = this.text(name, otherwise);
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    throw this.#bad(name, `one of ${choices.join(', ')}`, shown(value));
  }

  numbers(name: string): readonly number[] | null {
    const value = this.values[name];
    if (value === undefined) return null;
    if (!Array.isArray(value) || value.some((item) => typeof item !== 'number')) {
      throw this.#bad(name, 'a list of numbers');
    }
    return value as readonly number[];
  }

  texts(name: string): readonly string[] | null {
    const value = this.values[name];
    if (value === undefined) return null;
    if (!Array.isArray(value) || value.some((item) => typeof item !== 'string')) {
      throw this.#bad(name, 'a list of texts');
    }
    return value as readonly string[];
  }

  graph(name: string): OnnxGraph {
    const value = this.values[name];
    if (typeof value !== 'object' || !('graph' in value)) throw this.#bad(name, 'a graph');
    return value.graph;
  }

  tensor(name: string): OnnxTensor | null {
    const value = this.values[name];
    if (value === undefined) return null;
    if (typeof value !== 'object' || !('tensor' in value)) throw this.#bad(name, 'a tensor');
    return value.tensor;
  }

  #outside(name: string, value: number, { min, max }: Required<Bounds>): Error {
    const range = `${min === -Infinity ? '' : ` from ${min}`}${max === Infinity ? '' : ` to ${max}`}`;
    return this.#bad(name, `an integer${range}`, `${value}`);
  }

  #bad(name: string, expected: string, given = 'another kind of value'): Error {
    return badWeights('onnx', `${this.#node}, attribute ${name}`, given, expected);
  }
}
