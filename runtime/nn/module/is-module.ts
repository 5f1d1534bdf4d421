import type { Module } from './module.ts';

/** Whether the value is a module, judged by its members: importing the class `Module` would be a cycle. */
export function isModule(value: unknown): value is Module {
  return typeof value === 'object' && value !== null && 'ownEntries' in value;
}
