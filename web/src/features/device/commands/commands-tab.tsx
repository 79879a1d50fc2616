import { deviceText as words } from '../../../text/device';
import { MoreRows } from '../lists/more-rows';
import { CommandEntry } from './command-entry';

/** What was sent to the device, the newest first. Each opens its timeline and its answer. */
export function CommandsTab({ id }: { id: number }) {
  return (
    <MoreRows id={id} name="commands" empty={words.empty.commands}>
      {(rows) => (
        <ul className="command-list" aria-label={words.tab.commands}>
          {rows.map((command) => (
            <li key={command.id}>
              <CommandEntry device={id} command={command} />
            </li>
          ))}
        </ul>
      )}
    </MoreRows>
  );
}
