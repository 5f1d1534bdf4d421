/** Public types of captures, which don't depend on the parser's. */

/** biome-ignore lint/complexity/noBannedTypes: any callable value can be captured. */
export type AnyFunction = Function;

/**
 * How the scope of a function was found: the `scope` option, the build plugin's marker, the inspector (live, or
 * the engine's copy), or the printed text if it uses only globals.
 */
export type CaptureRoute = 'option' | 'plugin' | 'inspector' | 'snapshot' | 'globals';

export interface CaptureOptions {
  /** Values of the outer variables by name (`this` for an arrow's); no inspector is needed then. */
  readonly scope?: Readonly<Record<string, unknown>> | undefined;
}
