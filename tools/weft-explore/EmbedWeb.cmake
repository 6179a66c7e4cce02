# cmake -DFILES=a;b -DOUTPUT=x.cpp -P EmbedWeb.cmake: the files as arrays of bytes, and a function that lists them.
# Compilers limit the length of string literals, not of arrays.
set(text "// Written by EmbedWeb.cmake.\n#include \"Page.h\"\n")
set(entries "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  string(MAKE_C_IDENTIFIER ${name} symbol)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND text "static const char ${symbol}[] = {${bytes}};\n")
  string(APPEND entries "    {\"${name}\", {${symbol}, sizeof(${symbol})}},\n")
endforeach()
string(APPEND text "static const weft::explore::WebFile kFiles[] = {\n${entries}};\n"
  "llvm::ArrayRef<weft::explore::WebFile> weft::explore::getWebFiles() { return kFiles; }\n")
file(WRITE ${OUTPUT} "${text}")
