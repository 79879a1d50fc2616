import { commandsText } from '../../../text/commands';
import { Status } from '../../../ui/status';
import type { CommandType } from './queries';

const words = commandsText.choice;

/** What is to be known of the command that was chosen. */
export function ChosenCommand({ type }: { type: CommandType }) {
  const { request_type: requestType, platforms, role, is_destructive: isDestructive } = type;
  const effect = commandsText.sending.effects[requestType];
  return (
    <>
      <p className="chosen-facts">
        <code>{requestType}</code>
        <span className="soft">
          {words.platforms}: {platforms}
        </span>
        {isDestructive && <Status tone="bad">{words.destructive}</Status>}
        {role === 'admin' && <Status tone="warn">{words.admin}</Status>}
      </p>
      {effect !== undefined && <p>{effect}</p>}
    </>
  );
}
