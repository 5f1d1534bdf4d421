import { badWeights } from '../../weights/bad-file.ts';
import { attributeType, type OnnxAttribute, type OnnxGraph, type OnnxTensor } from './proto.ts';

type AttributeValue =
  | number
  | string
  | readonly number[]
  | readonly string[]
  | { readonly graph: OnnxGraph }
  | { readonly tensor: OnnxTensor };

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

/** The attributes of a node; reading one of another kind is a DataError. */
export class Attributes {
  readonly #values = new Map<string, AttributeValue>();
  readonly #node: string;

  constructor(node: string, attributes: readonly OnnxAttribute[]) {
    this.#node = node;
    for (const attribute of attributes) {
      const value = attributeValue(attribute);
      if (value === undefined)
        throw this.#bad(attribute.name ?? '', 'a number, text, list, tensor or graph');
      this.#values.set(attribute.name ?? '', value);
    }
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  number(name: string, otherwise: number): number {
    const value = this.#values.get(name) ?? otherwise;
    if (typeof value !== 'number') throw this.#bad(name, 'a number');
    return value;
  }

  text(name: string, otherwise: string): string {
    const value = this.#values.get(name) ?? otherwise;
    if (typeof value !== 'string') throw this.#bad(name, 'a text');
    return value;
  }

  numbers(name: string): readonly number[] | null {
    const value = this.#values.get(name);
    if (value === undefined) return null;
    if (!Array.isArray(value) || value.some((item) => typeof item !== 'number')) {
      throw this.#bad(name, 'a list of numbers');
    }
    return value as readonly number[];
  }

  texts(name: string): readonly string[] | null {
    const value = this.#values.get(name);
    if (value === undefined) return null;
    if (!Array.isArray(value) || value.some((item) => typeof item !== 'string')) {
      throw this.#bad(name, 'a list of texts');
    }
    return value as readonly string[];
  }

  graph(name: string): OnnxGraph {
    const value = this.#values.get(name);
    if (typeof value !== 'object' || !('graph' in value)) throw this.#bad(name, 'a graph');
    return value.graph;
  }

  tensor(name: string): OnnxTensor | null {
    const value = this.#values.get(name);
    if (value === undefined) return null;
    if (typeof value !== 'object' || !('tensor' in value)) throw this.#bad(name, 'a tensor');
    return value.tensor;
  }

  #bad(name: string, expected: string): Error {
    return badWeights(
      'onnx',
      `${this.#node}, attribute ${name}`,
      'another kind of value',
      expected,
    );
  }
}
