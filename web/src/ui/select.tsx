import './select.css';

interface Option {
  value: string;
  label: string;
}

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  options?: readonly Option[];
  groups?: readonly { label: string; options: readonly Option[] }[];
}

/** A choice within a line: its label is for screen readers alone. */
export function Select({ label, value, onChange, options = [], groups = [] }: Props) {
  return (
    <select
      className="select"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {options.map(optionOf)}
      {groups.map((group) => (
        <optgroup key={group.label} label={group.label}>
          {group.options.map(optionOf)}
        </optgroup>
      ))}
    </select>
  );
}

function optionOf({ value, label }: Option) {
  return (
    <option key={value} value={value}>
      {label}
    </option>
  );
}
