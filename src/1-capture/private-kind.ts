import type { ClassNode, FunctionNode } from './captured-function.ts';

/** What `#name` is in the innermost class around the function that declares it. */
export function privateKind(
  classes: Iterable<ClassNode>,
  fn: FunctionNode,
  name: string,
): 'field' | 'method' | 'accessor' | undefined {
  let innermost: ClassNode | undefined;
  let kind: 'field' | 'method' | 'accessor' | undefined;
  for (const node of classes) {
    if (node.start > fn.start || node.end < fn.end) continue;
    if (innermost && node.start < innermost.start) continue;
    for (const member of node.body.body) {
      if (!('key' in member) || member.key.type !== 'PrivateIdentifier') continue;
      if (member.key.name !== name) continue;
      innermost = node;
      if (member.type !== 'MethodDefinition') kind = 'field';
      else kind = member.kind === 'method' ? 'method' : 'accessor';
    }
  }
  return kind;
}
