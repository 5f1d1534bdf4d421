import type { AnyNode, Node } from 'acorn';

const isNode = (value: unknown): value is AnyNode =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

/** The direct child nodes in source order of their fields (acorn writes fields in that order). */
export function* childrenOf(node: Node): Generator<AnyNode> {
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const item of value) if (isNode(item)) yield item;
    } else if (isNode(value)) {
      yield value;
    }
  }
}
