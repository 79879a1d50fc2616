import { type ReactNode, useState } from 'react';
import { commandsText } from '../../../text/commands';
import { FileField } from '../../../ui/file-field';
import { TextArea } from '../../../ui/text-area';

const words = commandsText.form;

interface Props {
  label: ReactNode;
  name: string;
  value: string;
  hint: string | undefined;
  error: string | undefined;
  onChange: (base64: string) => void;
}

/** Bytes: as Base64, or the content of a file. */
export function DataField({ label, name, value, hint, error, onChange }: Props) {
  const [read, setRead] = useState<string>();
  const choose = async (file: File | undefined) => {
    setRead(undefined);
    if (file === undefined) return;
    onChange(await base64Of(file));
    setRead(words.fileSize(file.name, file.size));
  };
  return (
    <div className="data-field">
      <TextArea
        label={label}
        value={value}
        rows={3}
        hint={hint}
        error={error}
        onChange={onChange}
      />
      <FileField
        label={words.file(name)}
        accept=""
        hint={read}
        onChange={(file) => void choose(file)}
      />
    </div>
  );
}

function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(reader.error ?? new Error(file.name));
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
    reader.readAsDataURL(file);
  });
}
