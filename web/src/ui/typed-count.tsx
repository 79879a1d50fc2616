import { Field } from './field';

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

/** Where a person types the number of what a change concerns. */
export function TypedCount({ label, value, onChange }: Props) {
  return (
    <Field label={label} value={value} onChange={onChange} autoComplete="off" autoFocus required />
  );
}

/** Whether it is this number, with or without separators. */
export function isTypedCount(typed: string, count: number): boolean {
  return typed.trim().replaceAll(/[,\s]/g, '') === String(count);
}
