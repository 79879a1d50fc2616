import { Labelled, type LabelledProps } from './labelled';

interface Props extends LabelledProps {
  value: string;
  onChange: (value: string) => void;
  rows?: number;
}

export function TextArea({ label, hint, error, value, onChange, rows = 4 }: Props) {
  return (
    <Labelled label={label} hint={hint} error={error}>
      {(marks) => (
        <textarea
          {...marks}
          rows={rows}
          value={value}
          spellCheck={false}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Labelled>
  );
}
