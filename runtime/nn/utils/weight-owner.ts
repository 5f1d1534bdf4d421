import { isModule } from '../module/is-module.ts';
import type { Module } from '../module/module.ts';

/**
 * Returns the module that has the weight as a property, and the property's name: the module itself, or the cell of a
 * recurrent module, whose `weightHhL0` is the `weightHh` of its first cell.
 */
export function ownerOf(module: Module, name: string): [owner: Module, key: string] {
  if (isModule(module) && !(name in module)) {
    for (const [path, child] of module.ownEntries()) {
      if (!isModule(child)) continue;
      // A computed weight is no longer enumerable.
      for (const key of Object.getOwnPropertyNames(child)) {
        if (module.stateName(`${path}.${key}`) === name) return [child, key];
      }
    }
  }
  return [module, name];
}
