/** A generator may be endless. */
const mostValues = 100;

/** Awaits a call; requests at most 100 values from a generator, whose body runs as they are requested. */
export async function finishCall(result: unknown): Promise<void> {
  const value: unknown = await result;
  if (!isGenerator(value)) return;
  let count = 0;
  for await (const _ of value) if (++count === mostValues) break;
}

function isGenerator(value: unknown): value is AsyncGenerator | Generator {
  const kind = Object.prototype.toString.call(value);
  return kind === '[object Generator]' || kind === '[object AsyncGenerator]';
}
