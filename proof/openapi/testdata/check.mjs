// Validates an OpenAPI document by the official schema, and each exchange with an agent by the document's schemas.
// Arguments: the document, and a file with an exchange in JSON in each line.
import { Validator } from "@seriousme/openapi-schema-validator";
import addFormats from "ajv-formats";
import Ajv from "ajv/dist/2020.js";
import { readFileSync } from "node:fs";

const [documentFile, exchangesFile] = process.argv.slice(2);
const document = JSON.parse(readFileSync(documentFile, "utf8"));
const validator = new Validator();
const result = await validator.validate(structuredClone(document));
if (!result.valid || validator.version !== "3.1") {
  console.error(`the document is no OpenAPI 3.1: ${JSON.stringify(result.errors)}`);
  process.exit(1);
}

const ajv = new Ajv({ strict: false, allErrors: true });
addFormats(ajv);
ajv.addFormat("uint64", { type: "number", validate: (value) => Number.isInteger(value) && value >= 0 });
ajv.addSchema({ $id: "https://snowgrid.invalid/", ...document });
const escape = (part) => part.replaceAll("~", "~0").replaceAll("/", "~1");
let checked = 0, faults = 0;

/** Reports a value that differs from the schema at a place in the document. */
function check(about, at, value) {
  const valid = ajv.getSchema(`https://snowgrid.invalid/#/${at.map(escape).map(encodeURIComponent).join("/")}/schema`);
  if (valid === undefined) {
    console.error(`${about}: the document has nothing at ${at.join(" ")}`);
    faults++;
    return;
  }
  checked++;
  if (!valid(value)) {
    console.error(`${about}: ${JSON.stringify(valid.errors)}: ${JSON.stringify(value).slice(0, 500)}`);
    faults++;
  }
}

for (const line of readFileSync(exchangesFile, "utf8").trim().split("\n")) {
  const { method, path, status, kind, request, reply } = JSON.parse(line);
  const about = `${method} ${path} ${status}`;
  const at = ["paths", path, method.toLowerCase()];
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (operation === undefined) {
    console.error(`${about}: not in the document`);
    faults++;
    continue;
  }
  const type = kind.split(";")[0];
  if (request !== "") check(`${about} request`, [...at, "requestBody", "content", "application/json"], JSON.parse(request));
  const place = operation.responses[status] ? [...at, "responses", String(status)] : ["components", "responses", "Error"];
  check(`${about} reply`, [...place, "content", type], type === "application/json" ? JSON.parse(reply) : reply);
}
console.log(`${checked} values checked, ${faults} faults`);
process.exit(faults > 0 || checked === 0 ? 1 : 0);
