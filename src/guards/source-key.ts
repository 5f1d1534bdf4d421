import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import { assertNever } from '../../runtime/errors/invariant.ts';
import type { PrivateAccess } from '../vm/bytecode/frame.ts';
import { owns } from '../vm/language/primordials.ts';
import type { Source } from './source.ts';

const objectIds = new WeakMap<object, number>();
let objectCount = 0;

/** Returns an id of the object, without changing the object. */
export function objectId(object: object): number {
  const known = objectIds.get(object);
  if (known !== undefined) return known;
  objectIds.set(object, objectCount);
  return objectCount++;
}

const keys = new WeakMap<Source, string>();

/** A key that is equal for sources that read the same location. */
export function sourceKey(source: Source): string {
  return getOrInsert(keys, source, () => newKey(source));
}

function newKey(source: Source): string {
  switch (source.kind) {
    case 'argument':
      return `a${source.frame}.${source.index}`;
    case 'argumentCount':
      return `n${source.frame}`;
    case 'restArguments':
      return `l${source.frame}.${source.from}`;
    case 'this':
      return `t${source.frame}`;
    case 'newTarget':
      return `w${source.frame}`;
    case 'register':
      return `r${source.frame}.${source.reg}`;
    case 'free':
      return `f${objectId(source.scope)}.${source.name}`;
    case 'hasFree':
      return `F${objectId(source.scope)}.${source.name}`;
    case 'outerCell':
      return `c${source.frame}.${source.index}`;
    case 'property':
      return `${sourceKey(source.base)}/${keyText(source.key)}`;
    case 'hasProperty':
      return `${sourceKey(source.base)}/${source.own ? 'o' : 'i'}${keyText(source.key)}`;
    case 'accessor':
      return `${sourceKey(source.base)}/${source.which}${keyText(source.key)}`;
    case 'query':
      return `${sourceKey(source.base)}/?${source.query}${keyText(source.key)}`;
    case 'prototypeOf':
      return `${sourceKey(source.base)}/p`;
    case 'private':
      return `${sourceKey(source.base)}/#${source.slot ? 's' : ''}${elementId(source)}`;
    case 'hasPrivate':
      return `${sourceKey(source.base)}/h#${elementId(source)}`;
    case 'random':
      return `random ${source.field}`;
    case 'instanceOf':
      return `${sourceKey(source.base)}/is${objectId(source.type)}`;
    case 'mapGet':
      return `${sourceKey(source.base)}/m${keyText(source.key)}`;
    case 'mapHas':
      return `${sourceKey(source.base)}/h${keyText(source.key)}`;
    case 'contents':
      return `${sourceKey(source.base)}/values`;
    case 'lookup':
      return `${sourceKey(source.base)}/${source.method}${source.plus || ''}(${sourceKey(source.collection)})`;
    case 'closureCell':
      return `${sourceKey(source.base)}/c${source.index}`;
    case 'closureThis':
      return `${sourceKey(source.base)}/t`;
    case 'closureName':
      return `${sourceKey(source.base)}/v${keyText(source.name)}`;
    case 'bound':
      return `${sourceKey(source.base)}/b${source.part}`;
    case 'called':
      return `${source.fn} ${source.index}${source.after ? ' after' : ''}`;
    case 'held':
      return `h${objectId(source.value)}`;
    default:
      return assertNever(source, 'source');
  }
}

/** A private name is identified by its class; each method has its own access. */
function elementId({ access, name }: { readonly access: PrivateAccess; readonly name: string }) {
  const owner = access.owner?.();
  return typeof owner === 'function' ? `${objectId(owner)}.${name}` : String(objectId(access));
}

const symbolIds = new Map<symbol, number>();

/** Includes its length, so that concatenated keys are unambiguous. */
export function keyText(key: unknown): string {
  switch (typeof key) {
    case 'string':
      return `${key.length}:${key}`;
    case 'symbol': {
      const id = symbolIds.get(key) ?? symbolIds.size;
      symbolIds.set(key, id);
      return `@${id}`;
    }
    case 'object':
    case 'function':
      return key === null ? 'null' : `#${objectId(key)}`;
    default:
      return `${typeof key}${Object.is(key, -0) ? 0 : String(key)};`;
  }
}

/** Returns the location where a path of properties begins. */
export function rootOf(source: Source): Source {
  return owns(source, 'base') ? rootOf(source.base) : source;
}
