/** Functions of the realm that break the graph, and why they do. */

const because = (reason: string, names: string): Record<string, string> =>
  Object.fromEntries(names.split(/\s+/).map((name) => [name, reason]));

export const breaks: Readonly<Record<string, string>> = {
  ...because('code from text', 'Function eval'),
  ...because('the text belongs to the engine', 'Function.prototype.toString'),
  ...because(
    'memory that existed before: other objects may share it',
    `ArrayBuffer.prototype.byteLength ArrayBuffer.prototype.slice
    ArrayBuffer.prototype.maxByteLength ArrayBuffer.prototype.resizable
    ArrayBuffer.prototype.detached DataView DataView.prototype.buffer
    DataView.prototype.byteLength DataView.prototype.byteOffset TypedArray.prototype.buffer
    TypedArray.prototype.subarray`,
  ),
  ...because(
    'changes or moves memory',
    `ArrayBuffer.prototype.resize ArrayBuffer.prototype.transfer
    ArrayBuffer.prototype.transferToFixedLength TextEncoder.prototype.encodeInto`,
  ),
  ...because('elements that are no numbers', 'BigInt64Array BigUint64Array'),
  ...because('memory that existed before: other objects may share it', viewMethods()),
  ...because(
    'goes on after the call',
    `Promise Promise.reject
    Promise.prototype.then Promise.prototype.catch Promise.prototype.finally Promise.try
    Promise.withResolvers`,
  ),
  ...because('an object around a primitive', 'Object Number Boolean String'),
  ...because('makes an accessor of an object that existed before', accessors()),
  ...because('changes the pattern of an expression', 'RegExp.prototype.compile'),
  ...because('registers with the host', 'URL.createObjectURL URL.revokeObjectURL'),
  ...because('shares the state of its URL', 'URL.prototype.searchParams'),
  ...because(
    'an iterator of the host over what may change meanwhile',
    `URLSearchParams.prototype.entries URLSearchParams.prototype.keys
    URLSearchParams.prototype.values URLSearchParams.prototype.forEach
    URLSearchParams.prototype.@@iterator Intl.Segmenter.prototype.segment`,
  ),
  ...because(
    'may hold the beginning of a character',
    `TextDecoder TextDecoder.prototype.decode TextDecoder.prototype.encoding
    TextDecoder.prototype.fatal TextDecoder.prototype.ignoreBOM`,
  ),
};

function viewMethods(): string {
  const types = 'Int8 Uint8 Int16 Uint16 Int32 Uint32 Float16 Float32 Float64 BigInt64 BigUint64';
  return types.replaceAll(/\w+/g, 'DataView.prototype.get$& DataView.prototype.set$&');
}

function accessors(): string {
  return 'Object.prototype.__defineGetter__ Object.prototype.__defineSetter__';
}
