import type { ScriptFacts } from '../script/analyze-script.ts';
import type { FunctionFacts, OuterNames } from '../script/binding.ts';
import type { FunctionNode } from '../script/captured-function.ts';
import { classNameAround } from '../script/class-name.ts';
import { type PrivateDeclaration, privateDeclaration } from '../script/private-declaration.ts';

/** The facts about a function, besides its code, that a capture of an instrumented module uses. */
export interface FunctionOutline
  extends OuterNames,
    Readonly<Pick<FunctionFacts, 'kind' | 'strict' | 'usesThis' | 'usesSuper'>> {
  /** The name in the user's source, unless the function is named when it is created. */
  readonly name: string | undefined;
  /** The class that has the function as a method, if it uses `super`. */
  readonly className: string | undefined;
  /** The private names that it uses, without `#`; undefined for names that no enclosing class declares. */
  readonly privateNames: ReadonlyMap<string, PrivateDeclaration | undefined>;
}

export function outlineOf(
  facts: FunctionFacts,
  { classes }: Pick<ScriptFacts, 'classes'>,
  names: ReadonlyMap<FunctionNode, string>,
): FunctionOutline {
  const { node, kind, strict, usesThis, usesSuper, free } = facts;
  const declared = [...facts.privateNames].map(
    (name) => [name, privateDeclaration(classes.keys(), node, name)] as const,
  );
  return {
    kind,
    strict,
    usesThis,
    usesSuper,
    free,
    name: names.get(node),
    className: usesSuper ? classNameAround(node, classes.keys()) : undefined,
    privateNames: new Map(declared),
  };
}
