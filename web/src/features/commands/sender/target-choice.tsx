import { useState } from 'react';
import { commandsText } from '../../../text/commands';
import { Button } from '../../../ui/button';
import { Choice } from '../../../ui/field';
import { TargetDevices } from './target-devices';
import { TargetMarks } from './target-marks';
import type { TargetSearch } from './targets';

const words = commandsText.targets;
const WAYS = ['all', 'tags', 'groups', 'search'] as const;
type Way = (typeof WAYS)[number];

interface Props {
  onChoose: (target: TargetSearch) => void;
}

/** Asks which devices get the command. */
export function TargetChoice({ onChoose }: Props) {
  const [way, setWay] = useState<Way>('all');
  return (
    <div className="target-choice">
      <Choice
        label={words.how}
        value={way}
        onChange={(value) => setWay(value as Way)}
        options={WAYS.map((each) => ({ value: each, label: words.ways[each] }))}
      />
      {way === 'all' && (
        <div>
          <Button onPress={() => onChoose({ rules: '[]' })}>{words.use}</Button>
        </div>
      )}
      {way === 'tags' && <TargetMarks kind="tags" onChoose={(tags) => onChoose({ tags })} />}
      {way === 'groups' && (
        <TargetMarks kind="groups" onChoose={(groups) => onChoose({ groups })} />
      )}
      {way === 'search' && <TargetDevices onChoose={(devices) => onChoose({ devices })} />}
    </div>
  );
}
