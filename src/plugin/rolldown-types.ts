import remapping, { type EncodedSourceMap } from '@jridgewell/remapping';

interface Compiled {
  readonly code: string;
  readonly map?: EncodedSourceMap | null;
  readonly errors: readonly { readonly message: string }[];
}

type Compile = (file: string, code: string, options: { sourcemap: boolean }) => Promise<Compiled>;

export interface CompiledModule {
  readonly code: string;
  /** To the user's file. */
  readonly map: EncodedSourceMap | undefined;
  /** To the input of this step. */
  readonly step: EncodedSourceMap | undefined;
}

// Named by a parameter: projects with another bundler lack this package, and their bundler must not look for it.
const importNamed = (name: string): Promise<unknown> =>
  import(/* @vite-ignore */ /* webpackIgnore: true */ name);

/** Whether a file needs compiling: TypeScript, or JSX. */
export const isTyped = (path: string): boolean => /\.(?:[cm]?ts|[jt]sx)$/.test(path);

/** Rolldown compiles TypeScript and JSX after all plugins, so its compiler is called early here. */
export async function compileForRolldown(
  code: string,
  path: string,
  incoming: EncodedSourceMap | undefined,
): Promise<CompiledModule> {
  if (!isTyped(path)) return { code, map: incoming, step: undefined };
  const { transform } = (await importNamed('rolldown/utils')) as { transform: Compile };
  const done = await transform(path, code, { sourcemap: true });
  const [error] = done.errors;
  if (error) throw new SyntaxError(error.message);
  return { code: done.code, map: chain(done.map, incoming), step: done.map ?? undefined };
}

/**
 * Like `compileForRolldown`, in projects that may lack Rolldown; the error says what needs it and how to install it.
 */
export async function compileWithRolldown(
  code: string,
  path: string,
  incoming: EncodedSourceMap | undefined,
  { user, install }: { readonly user: string; readonly install: string },
): Promise<CompiledModule> {
  try {
    return await compileForRolldown(code, path, incoming);
  } catch (cause) {
    if ((cause as { readonly code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new Error(`${user} compiles ${path} with Rolldown, which is not installed: ${install}`, {
      cause,
    });
  }
}

/** Combines the maps of two steps, the later one first; returns one of them if the other is missing. */
export function chain(
  later: EncodedSourceMap | null | undefined,
  earlier: EncodedSourceMap | null | undefined,
): EncodedSourceMap | undefined {
  const maps = [later, earlier].filter((map) => map?.mappings) as EncodedSourceMap[];
  return maps.length > 0 ? (remapping(maps, () => null) as EncodedSourceMap) : undefined;
}
