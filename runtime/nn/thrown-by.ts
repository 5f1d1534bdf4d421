import { TostaticError } from '../errors/errors.ts';
import type { Module } from './module/module.ts';
import { moduleText } from './module/module-text.ts';

/** Adds the layer to an error that it threw, as in `2 (Linear(weight: …))`. Returns the error. */
export function thrownBy(layer: Module, name: string | number, error: unknown): unknown {
  if (error instanceof TostaticError) {
    const hasLayers = !layer.children().next().done;
    error.addLayer(String(name), hasLayers ? layer.constructor.name : moduleText(layer));
  }
  return error;
}
