import type { StoredReader } from '../../vm/stored/stored-reader.ts';
import type { OuterBinding } from '../script/binding.ts';
import type { PrivateDeclaration } from '../script/private-declaration.ts';
import type { FunctionOutline } from './function-outline.ts';
import { bindingKinds, functionKinds, privateKinds, scopeKinds } from './outline-choices.ts';

/** Reads what `writeOutline` wrote. */
export function readOutline(from: StoredReader): FunctionOutline {
  const kind = functionKinds[from.integer()]!;
  const flags = from.integer();
  return {
    kind,
    strict: (flags & 1) > 0,
    usesThis: (flags & 2) > 0,
    usesSuper: (flags & 4) > 0,
    name: from.optionalText(),
    className: from.optionalText(),
    free: new Map(from.list(() => readBinding(from))),
    privateNames: new Map(from.list(() => [from.readText(), readDeclaration(from)] as const)),
  };
}

function readBinding(from: StoredReader): [string, OuterBinding | undefined] {
  const name = from.readText();
  const kind = bindingKinds[from.integer() - 1];
  if (kind === undefined) return [name, undefined];
  const module = from.optionalText();
  const initializations = from.integer();
  const assignments = from.integer();
  const flags = from.integer();
  const scope = {
    kind: scopeKinds[flags >> 2]!,
    seesEval: (flags & 1) > 0,
    aliasesArguments: (flags & 2) > 0,
  };
  const binding = { name, kind, scope, initializations, assignments };
  return [name, module === undefined ? binding : { ...binding, from: module }];
}

function readDeclaration(from: StoredReader): PrivateDeclaration | undefined {
  const kind = privateKinds[from.integer() - 1];
  return kind && { kind, owner: from.optionalText(), isStatic: from.integer() > 0 };
}
