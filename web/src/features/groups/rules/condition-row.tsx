import { groupsText } from '../../../text/groups';
import { Button } from '../../../ui/button';
import { Input } from '../../../ui/input';
import { Select } from '../../../ui/select';
import { FACT_CHOICES, operatorChoices, useValueChoices } from './choices';
import { faultOf, hasDetail, hasValue, kindOfFact } from './operators';
import { type Condition, newCondition } from './rule';

interface Props {
  condition: Condition;
  /** Its place, such as 2.1. */
  number: string;
  onChange: (condition: Condition) => void;
  onRemove: () => void;
}

const words = groupsText.rule;

export function ConditionRow({ condition, number, onChange, onRemove }: Props) {
  const { fact, op, value, detail, key } = condition;
  const kind = kindOfFact(fact);
  const setFact = (name: string) => onChange({ ...newCondition(name), key });
  return (
    <fieldset className="condition" aria-label={words.condition(number)}>
      <Select label={words.fact} value={fact} onChange={setFact} groups={FACT_CHOICES} />
      {hasDetail(fact) && (
        <Input
          label={kind === 'application' ? words.detail.application : words.detail.attribute}
          placeholder={kind === 'application' ? 'org.example.app' : words.detail.attribute}
          value={detail}
          onChange={(typed) => onChange({ ...condition, detail: typed })}
        />
      )}
      <Select
        label={words.operator}
        value={op}
        onChange={(chosen) => onChange({ ...condition, op: chosen })}
        options={operatorChoices(fact)}
      />
      {hasValue(condition) && (
        <Value
          fact={fact}
          value={value}
          error={faultOf(condition)}
          onChange={(typed) => onChange({ ...condition, value: typed })}
        />
      )}
      <Button kind="quiet" aria-label={words.remove(number)} onPress={onRemove}>
        ×
      </Button>
    </fieldset>
  );
}

interface ValueProps {
  fact: string;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

function Value({ fact, value, error, onChange }: ValueProps) {
  const kind = kindOfFact(fact);
  const choices = useValueChoices(fact, value);
  if (choices.length > 0) {
    return <Select label={words.value} value={value} onChange={onChange} options={choices} />;
  }
  const isNumber = kind === 'number' || kind === 'time' || kind === 'reference';
  const label = kind === 'time' ? words.days : words.value;
  return (
    <Input
      label={label}
      placeholder={label}
      type={isNumber ? 'number' : 'text'}
      value={value}
      error={error}
      onChange={onChange}
    />
  );
}
