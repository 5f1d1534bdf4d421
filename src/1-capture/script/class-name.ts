import type { ClassNode, FunctionNode } from './captured-function.ts';

/** Returns the name of the class that has the function as a method; undefined if there is none. */
export function classNameAround(
  node: FunctionNode,
  classes: Iterable<ClassNode>,
): string | undefined {
  for (const { id, body } of classes) {
    if (id && body.body.some((member) => 'value' in member && member.value === node))
      return id.name;
  }
  return undefined;
}
