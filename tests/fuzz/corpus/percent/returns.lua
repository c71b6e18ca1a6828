-- %% a
print(1)

-- %% [md]
-- b