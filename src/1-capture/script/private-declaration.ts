import type { PrivateAccess } from '../../vm/bytecode/frame.ts';
import type { ClassNode, FunctionNode } from './captured-function.ts';

/** The declaration of a private name. */
export interface PrivateDeclaration {
  /** The name of the class that declares it. */
  readonly owner: string | undefined;
  readonly kind: 'field' | 'method' | 'accessor';
  readonly isStatic: boolean;
}

/** Returns the declaration of `#name` in the innermost class around the function. */
export function privateDeclaration(
  classes: Iterable<ClassNode>,
  fn: FunctionNode,
  name: string,
): PrivateDeclaration | undefined {
  let found: PrivateDeclaration | undefined;
  let innermost = -1;
  for (const node of classes) {
    if (node.start > fn.start || node.end < fn.end) continue;
    if (node.start < innermost) continue;
    for (const member of node.body.body) {
      if (!('key' in member) || member.key.type !== 'PrivateIdentifier') continue;
      if (member.key.name !== name) continue;
      const isMethod = member.type === 'MethodDefinition';
      const kind = !isMethod ? 'field' : member.kind === 'method' ? 'method' : 'accessor';
      innermost = node.start;
      found = { owner: node.id?.name, kind, isStatic: member.static };
    }
  }
  return found;
}

/**
 * Returns the access to a private name, with the known facts of its declaration. `read`: reads a name in the function's
 * scope; here, the class's name.
 */
export function declaredAccess(
  access: PrivateAccess,
  declaration: PrivateDeclaration | undefined,
  read: (name: string) => unknown,
): PrivateAccess {
  if (!declaration) return access;
  const { owner, kind, isStatic } = declaration;
  return {
    ...access,
    kind,
    isStatic,
    owner() {
      if (owner === undefined) return undefined;
      try {
        return read(owner);
      } catch {
        return undefined; // the class doesn't exist yet
      }
    },
  };
}
