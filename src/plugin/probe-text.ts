import type { AnyNode, Pattern } from 'acorn';
import { markerProperty } from '../1-capture/marked/entry-marker.ts';
import type { ScriptFacts } from '../1-capture/script/analyze-script.ts';
import type { Binding, FunctionFacts } from '../1-capture/script/binding.ts';
import type { ClassNode } from '../1-capture/script/captured-function.ts';
import { classNameAround } from '../1-capture/script/class-name.ts';
import { privateDeclaration } from '../1-capture/script/private-declaration.ts';
import { standardGlobals } from '../1-capture/script/standard-globals.ts';
import { childrenOf } from '../vm/syntax/children.ts';
import { isFunctionNode } from '../vm/syntax/function-node.ts';

/** The names that the plugin adds to a module. */
interface AddedNames {
  readonly probe: string;
  readonly source: string;
}

export interface ProbeText {
  readonly test: string;
  readonly hit: string;
}

/** `p.$tostatic` and `p.hit(source, 12, () => ({ get x() { return x } }), () => this)`. */
export function probeText(facts: FunctionFacts, script: ScriptFacts, added: AddedNames): ProbeText {
  const table = [...facts.free].flatMap(([name, binding]) =>
    isGlobalOf(name, binding) ? [] : accessorsOf(name, isWritable(name, binding, facts)),
  );
  const home = homeClassOf(facts, script);
  const owners = privateOwnersOf(facts, script);
  const classes = new Set([...(home === undefined ? [] : [home]), ...owners]);
  for (const name of classes) if (!facts.free.has(name)) table.push(...accessorsOf(name, false));
  table.push(...privateNamesOf(facts, script));
  const needsThis = facts.kind === 'arrow' && facts.usesThis;
  const args = [added.source, String(facts.node.start)];
  if (table.length > 0) args.push(`()=>({${table.join()}})`);
  else if (needsThis) args.push('()=>({})');
  if (needsThis) args.push('()=>this');
  return { test: `${added.probe}.${markerProperty}`, hit: `${added.probe}.hit(${args.join()})` };
}

/**
 * Whether a probe at the entry would see the function's free variables, and a call with them would run nothing. If not,
 * the function is captured in other ways, or they report why they can't.
 */
export function canBeProbed({ node, free, bodyNames, classNode }: FunctionFacts): boolean {
  if ((node.params as Pattern[]).some(runsSomething)) return false;
  if (classNode && !classNode.superClass && initializesFields(classNode)) return false;
  // `(a = x) => { let x }`: at the entry, the inner x shadows the outer one.
  return ![...free.keys()].some((name) => bodyNames.has(name));
}

const isGlobalOf = (name: string, binding: Binding | undefined): boolean =>
  binding === undefined && (standardGlobals.has(name) || name === 'arguments');

function isWritable(name: string, binding: Binding | undefined, facts: FunctionFacts): boolean {
  if (binding === undefined || !facts.written.has(name)) return false;
  return !['const', 'import', 'self'].includes(binding.kind);
}

function accessorsOf(name: string, writable: boolean): string[] {
  const getter = `get ${name}(){return ${name}}`;
  const value = name === '$' ? '$1' : '$';
  return writable ? [getter, `set ${name}(${value}){${name}=${value}}`] : [getter];
}

/** `"#x": [read, test, write]` for each private name that the function uses and may access at its entry. */
function privateNamesOf({ privateNames, node }: FunctionFacts, { classes }: ScriptFacts): string[] {
  const around = [...classes.keys()].filter(
    ({ body }) => body.start < node.start && node.end < body.end,
  );
  return [...privateNames].flatMap((name) => {
    const members = around.findLast((owner) => declares(owner, name))?.body.body;
    if (!members) return []; // of a class inside the function
    const isWritable = members.some(
      (member) =>
        isPrivate(member, name) &&
        (member.type === 'PropertyDefinition' ||
          (member.type === 'MethodDefinition' && member.kind === 'set')),
    );
    const write = isWritable ? `,(o,v)=>{o.#${name}=v}` : '';
    return [`"#${name}":[o=>o.#${name},o=>#${name} in o${write}]`];
  });
}

/** The names of classes whose private names the function uses, if they are in scope. */
function privateOwnersOf(facts: FunctionFacts, { classes }: ScriptFacts): string[] {
  return [...facts.privateNames].flatMap((name) => {
    const owner = privateDeclaration(classes.keys(), facts.node, name)?.owner;
    return owner !== undefined && !facts.declared.has(owner) ? [owner] : [];
  });
}

type Member = ClassNode['body']['body'][number];

const declares = (owner: ClassNode, name: string): boolean =>
  owner.body.body.some((member) => isPrivate(member, name));

const isPrivate = (member: Member, name: string): boolean =>
  'key' in member && member.key.type === 'PrivateIdentifier' && member.key.name === name;

/** The name of the class whose method uses `super`, to find the method's home object. */
function homeClassOf(facts: FunctionFacts, { classes }: ScriptFacts): string | undefined {
  if (!facts.usesSuper || facts.kind !== 'method') return undefined;
  const name = classNameAround(facts.node, classes.keys());
  return name === undefined || facts.declared.has(name) ? undefined : name;
}

const initializesFields = ({ body }: ClassNode): boolean =>
  body.body.some(
    (member) => member.type === 'PropertyDefinition' && !member.static && member.value,
  );

/** Computed keys of patterns run before the body does, for any arguments. */
function runsSomething(node: AnyNode): boolean {
  if (isFunctionNode(node)) return false;
  if ('computed' in node && node.computed && 'key' in node) {
    const { type } = node.key as AnyNode;
    if (type !== 'Literal' && type !== 'Identifier') return true;
  }
  // A default never runs, but patterns in its target may have computed keys.
  if (node.type === 'AssignmentPattern') return runsSomething(node.left);
  return [...childrenOf(node)].some(runsSomething);
}
