/** What PyTorch has and this library doesn't, with the reason. */

/** Operators that the samples hold; each must be here or among the adapters. */
export const notOffered: Readonly<Record<string, string>> = {};

/** Families beyond the samples. */
export const familiesNotOffered: readonly (readonly [family: string, reason: string])[] = [
  [
    '`fft.*`, `stft`, `view_as_complex`, `polar`, `angle`, complex variants of all operators',
    'there are no complex dtypes: JavaScript has no complex numbers, and no kernel here has any use of them',
  ],
  [
    '`linalg.eig`, `ldl` and other decompositions',
    'eigenvalues of general matrices are complex; of symmetric ones there is `eigh`, for linear systems `solve`, `lstsq`, and the factors of `lu`',
  ],
  [
    '`sparse.*`, `to_sparse`, `nn.functional.embedding(sparse=True)`',
    'tensors are strided; sparse layouts would need kernels of their own',
  ],
  ['`quantize_per_tensor`, `fake_quantize_*`', 'dtypes of 8 bits store numbers, not scales'],
  [
    '`int64`, `int8`, `int16` tensors',
    'integers are int32 (and uint8): a typed array of 64-bit integers holds no JavaScript numbers',
  ],
  [
    '`as_strided`, `set_`, `resize_`',
    "a view is made by what it means; strides are the library's own",
  ],
];
