import { type Dim, type InputSpec, OptionalSpec, TensorSpec } from '../input-spec/spec.ts';
import type { Field } from './file/field.ts';
import { dtypeNames } from './tensors.ts';

/** Encodes an input spec as JSON: tensors, lists and objects. */
export function encodeSpec(spec: InputSpec): unknown {
  if (spec === null) return null;
  if (spec instanceof TensorSpec) {
    const { shape, dtype, name, device } = spec;
    return {
      tensor: {
        ...(shape && { shape }),
        ...(dtype && { dtype }),
        ...(name && { name }),
        ...(device && { device }),
      },
    };
  }
  if (spec instanceof OptionalSpec) return { optional: encodeSpec(spec.spec) };
  if (Array.isArray(spec)) return { list: (spec as readonly InputSpec[]).map(encodeSpec) };
  return {
    object: Object.entries(spec).map(([key, item]) => [key, encodeSpec(item as InputSpec)]),
  };
}

export function readSpec(field: Field): InputSpec {
  if (field.isNull) return null;
  if (field.has('list')) return field.list('list', (item) => readSpec(item));
  if (field.has('object')) {
    const entries = field.list('object', (entry) => {
      const [key, item] = entry.tuple(2);
      return [key.string(), readSpec(item)] as const;
    });
    return Object.fromEntries(entries);
  }
  if (field.has('optional')) return new OptionalSpec(readSpec(field.get('optional')));
  const tensor = field.get('tensor');
  const [shape, dtype] = [tensor.get('shape'), tensor.get('dtype')];
  const [name, device] = [tensor.get('name'), tensor.get('device')];
  return new TensorSpec(
    shape.isMissing ? undefined : shape.items().map(readDim),
    dtype.isMissing ? undefined : dtype.oneOf(dtypeNames),
    name.isMissing ? undefined : name.string(),
    device.isMissing ? undefined : device.string(),
  );
}

function readDim(field: Field): Dim {
  if (field.isNull || typeof field.value === 'string') return field.value as null | string;
  if (typeof field.value === 'number') return field.int();
  const [name, min, max] = [field.get('name'), field.get('min'), field.get('max')];
  return {
    ...(!name.isMissing && { name: name.string() }),
    ...(!min.isMissing && { min: min.int() }),
    ...(!max.isMissing && { max: max.int() }),
  };
}
